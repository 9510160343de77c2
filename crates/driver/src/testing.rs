//! Testing: the `test` blocks of a file and the examples in its documentation.

use crate::engine::Kernels;
use crate::examples::{self, Example};
use crate::execute::{Outside, memory};
use crate::run::RunOptions;
use crate::{CheckReport, Compiled, InternalError, Session, guarded, library};
use ein_base::{Diagnostic, FileId, Span};
use ein_interp::Accelerator;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What came of a test.
#[derive(Debug)]
pub struct TestResult {
    /// Its name.
    pub name: String,
    /// Why it failed, if it did.
    pub failure: Option<Diagnostic>,
}

impl Session {
    /// Runs the `test` blocks of a file and the examples in its documentation: each once, after one
    /// run of the top level. The tests of modules that it imports are theirs. Of a file of the
    /// library only the examples are run: by itself it is no program.
    pub fn test(
        &mut self,
        input: &crate::Input,
        options: &RunOptions,
        print: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(CheckReport, Vec<TestResult>), InternalError> {
        guarded(|| {
            let root = match self.load(input) {
                Ok(root) => root,
                Err(unreadable) => return Ok((CheckReport::from(vec![*unreadable]), Vec::new())),
            };
            let mut checked = CheckReport::default();
            let mut results = Vec::new();
            let examples = examples::of(&self.files, root);
            let library = library::holds(&self.files.file(root).text);
            if !library {
                let none = FxHashSet::default();
                let compiled = self.compile_file(root, &none, &mut checked.diagnostics)?;
                if checked.has_errors() {
                    return Ok((checked, results));
                }
                let inside: Vec<&Example> =
                    examples.iter().filter(|it| it.sees_its_file()).collect();
                self.test_file(root, compiled, &inside, options, print, &mut results)?;
            }
            for example in examples.iter().filter(|it| library || !it.sees_its_file()) {
                let file = example.add(&mut self.files, root);
                self.test_program(file, example.name(), options, print, &mut results)?;
            }
            Ok((checked, results))
        })
        .flatten()
    }

    /// Runs the tests of a file, and the examples that see it. What is wrong with one example is
    /// that example's failure: the others run without it.
    fn test_file(
        &mut self,
        root: FileId,
        mut compiled: Compiled,
        examples: &[&Example],
        options: &RunOptions,
        print: &mut (dyn FnMut(&str) + Send),
        results: &mut Vec<TestResult>,
    ) -> Result<(), InternalError> {
        let mut file = root;
        let mut wrong = Vec::new();
        if !examples.is_empty() {
            let mut sound = examples.to_vec();
            let mut together = self.weave(root, &sound)?;
            if together.2.is_some() {
                sound.clear();
                for example in examples {
                    match self.weave(root, &[example])?.2 {
                        Some(error) => wrong.push((*example, error)),
                        None => sound.push(*example),
                    }
                }
                together = self.weave(root, &sound)?;
            }
            (file, compiled, _) = together;
        }
        let own = |span: &Span| span.file() == file;
        let tests: Vec<usize> = (0..compiled.program.tests.len())
            .filter(|at| own(&compiled.program.tests[*at].1))
            .collect();
        if !tests.is_empty() {
            let (top, failures) = self.attempt(&compiled, options, print, &tests);
            if let Some(failure) = top {
                results.push(TestResult { name: "the top level".into(), failure: Some(failure) });
            }
            for (at, failure) in tests.iter().zip(failures) {
                let (name, _, _) = compiled.program.tests[*at];
                results.push(TestResult { name: name.to_string(), failure });
            }
        }
        let failed = wrong
            .into_iter()
            .map(|(example, error)| TestResult { name: example.name(), failure: Some(error) });
        results.extend(failed);
        Ok(())
    }

    /// A file with some of its examples as tests, and the first error in it.
    fn weave(
        &mut self,
        root: FileId,
        examples: &[&Example],
    ) -> Result<(FileId, Compiled, Option<Diagnostic>), InternalError> {
        let source = self.files.file(root);
        let text = examples::woven(&source.text, examples);
        let (name, path) = (source.name.clone(), source.path.clone());
        let file = self.files.add(name, path, Arc::from(text));
        let mut diagnostics = Vec::new();
        let compiled = self.compile_file(file, &FxHashSet::default(), &mut diagnostics)?;
        Ok((file, compiled, diagnostics.into_iter().find(Diagnostic::is_error)))
    }

    /// Runs an example that is a program of its own.
    fn test_program(
        &mut self,
        file: FileId,
        name: String,
        options: &RunOptions,
        print: &mut (dyn FnMut(&str) + Send),
        results: &mut Vec<TestResult>,
    ) -> Result<(), InternalError> {
        let mut diagnostics = Vec::new();
        let compiled = self.compile_file(file, &FxHashSet::default(), &mut diagnostics)?;
        let failure = match diagnostics.into_iter().find(Diagnostic::is_error) {
            Some(error) => Some(error),
            None => self.attempt(&compiled, options, print, &[]).0,
        };
        results.push(TestResult { name, failure });
        Ok(())
    }

    /// Runs the top level of a program, then these tests of it; gives what stopped the top level,
    /// and each of the tests if they ran.
    fn attempt(
        &self,
        compiled: &Compiled,
        options: &RunOptions,
        print: &mut (dyn FnMut(&str) + Send),
        tests: &[usize],
    ) -> (Option<Diagnostic>, Vec<Option<Diagnostic>>) {
        let memory = memory(options);
        let interrupted = Arc::new(AtomicBool::new(false));
        let settings = self.settings(compiled, options, memory.clone(), interrupted);
        let ad_memory = settings.ad_memory;
        let mut host = Outside::new(print, options, memory);
        let mut kernels = Kernels::new(&compiled.program, options, ad_memory);
        let kernels = kernels.as_mut().map(|it| it as &mut dyn Accelerator);
        ein_interp::run_tests(&compiled.program, &settings, &mut host, kernels, tests)
    }
}
