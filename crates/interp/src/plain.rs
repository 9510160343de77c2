//! Functions of the library that the language does not say: texts by their characters, numbers in
//! texts, marks on a picture.

use ein_base::{Code, Span};
use ein_ir::tensor::{Expr, FormatSpec, PlainOp, Type};
use ein_runtime::{Canvas, MARK};
use ein_scalar::{Scalar, ScalarType, parse_float, parse_int};

use crate::array::elements;
use crate::machine::Machine;
use crate::stop::Stop;
use crate::value::Value;

impl<'p> Machine<'p> {
    /// Does it; the library has seen to the types of the arguments.
    #[inline(never)]
    pub(crate) fn plain_op(
        &mut self,
        op: PlainOp,
        args: &[Value],
        e: &'p Expr,
    ) -> Result<Value, Stop> {
        let span = e.span;
        let text = |at: usize| match args.get(at) {
            Some(Value::Str(text)) => Ok(text.as_str()),
            Some(other) => Err(self.expected(span, "a text", other)),
            None => Err(self.malformed(span, "an argument is missing")),
        };
        match op {
            PlainOp::TextCodes => {
                let codes: Vec<i64> =
                    text(0)?.chars().map(|letter| i64::from(letter as u32)).collect();
                self.ints(codes.into_iter(), span)
            }
            PlainOp::TextOf => {
                let codes = args.first().map(elements).unwrap_or_default();
                self.room(codes.len() * 4, "the text", span)?;
                let mut text = String::with_capacity(codes.len());
                for code in codes {
                    let code = code.as_scalar().and_then(Scalar::as_i64).unwrap_or(-1);
                    let Some(letter) = u32::try_from(code).ok().and_then(char::from_u32) else {
                        let message = format!("{code} is the number of no character");
                        return Err(self.fail(Code::E0809, span, message));
                    };
                    text.push(letter);
                }
                Ok(Value::str(text))
            }
            PlainOp::TextFind => {
                let (whole, part) = (text(0)?, text(1)?);
                let from = args.get(2).and_then(Value::as_scalar).and_then(Scalar::as_i64);
                let from = usize::try_from(from.unwrap_or(0)).unwrap_or(0);
                let skipped = whole.char_indices().nth(from).map(|it| it.0);
                let start = match skipped {
                    Some(start) => start,
                    None if from <= whole.chars().count() => whole.len(),
                    None => return Ok(Value::Scalar(Scalar::I32(-1))),
                };
                match whole[start..].find(part) {
                    Some(at) => {
                        let before = whole[start..start + at].chars().count();
                        self.index_value((from + before) as i64, span)
                    }
                    None => Ok(Value::Scalar(Scalar::I32(-1))),
                }
            }
            PlainOp::TextSplit => {
                let (whole, mark) = (text(0)?, text(1)?);
                if mark.is_empty() {
                    let message = "a text cannot be split at an empty text".to_owned();
                    return Err(self.fail(Code::E0809, span, message));
                }
                let parts: Vec<Value> = whole.split(mark).map(Value::str).collect();
                self.array_of(&Type::Str, vec![parts.len()], parts, span)
            }
            PlainOp::TextJoin => {
                let mark = text(1)?;
                let parts = args.first().map(elements).unwrap_or_default();
                let length: usize =
                    parts.iter().filter_map(Value::as_str).map(|it| it.len() + mark.len()).sum();
                self.room(length, "the text", span)?;
                let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
                Ok(Value::str(parts.join(mark)))
            }
            PlainOp::TextUpper => Ok(Value::str(text(0)?.to_uppercase())),
            PlainOp::TextLower => Ok(Value::str(text(0)?.to_lowercase())),
            PlainOp::TextNumber => {
                let text = text(0)?.trim();
                match parse_float(text, ScalarType::F64) {
                    Some(number) => Ok(Value::Scalar(number)),
                    None => Err(self.no_number(text, "number", span)),
                }
            }
            PlainOp::TextInteger => {
                let text = text(0)?.trim();
                let signed = text.strip_prefix('+');
                let plain = signed.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
                match parse_int(plain.unwrap_or(text))
                    .and_then(|it| Scalar::from_i128(it, ScalarType::I64))
                {
                    Some(number) => Ok(Value::Scalar(number)),
                    None => Err(self.no_number(text, "whole number of 64 bits", span)),
                }
            }
            PlainOp::TextFormat => {
                let [value, width, digits] = args else {
                    return Err(self.malformed(span, "an argument is missing"));
                };
                let number = |value: &Value| {
                    let number = value.as_scalar().and_then(Scalar::as_i64);
                    number.and_then(|it| u32::try_from(it).ok())
                };
                let precision = number(digits);
                let spec = FormatSpec {
                    width: number(width),
                    precision,
                    kind: precision.map(|_| 'f'),
                    ..FormatSpec::default()
                };
                match self.format(value, Some(&spec)) {
                    Ok(text) => Ok(Value::str(text)),
                    Err(message) => Err(self.fail(Code::E0809, span, message)),
                }
            }
            PlainOp::Paint => self.painted(args, span),
        }
    }

    #[cold]
    fn no_number(&self, text: &str, what: &str, span: Span) -> Stop {
        let shown: String = text.chars().take(40).collect();
        self.fail(Code::E0809, span, format!("{shown:?} is no {what}"))
    }

    /// A picture with marks on it.
    fn painted(&self, args: &[Value], span: Span) -> Result<Value, Stop> {
        let [Value::Tensor(picture), Value::Tensor(marks)] = args else {
            return Err(self.malformed(span, "a picture and marks are numbers"));
        };
        let (&[rows, cols, channels @ (1 | 3)], [_, MARK]) = (picture.shape(), marks.shape())
        else {
            let message =
                "marks are rows of ten numbers on a picture of 1 or 3 channels".to_owned();
            return Err(self.fail(Code::E0804, span, message));
        };
        let failed = |error: ein_runtime::TensorError| {
            self.fail(Code::E0805, span, format!("no room to paint: {error}"))
        };
        let mut own = self
            .options
            .memory
            .zeros(ScalarType::F32, picture.shape())
            .map_err(|error| failed(error.into()))?;
        let below: Vec<f32> = picture.to_vec().unwrap_or_default();
        let marks: Vec<f32> = marks.to_vec().unwrap_or_default();
        let cells = own.as_mut_slice::<f32>().map_err(failed)?;
        cells.copy_from_slice(&below);
        Canvas { cells, rows, cols, channels }.paint(&marks);
        Ok(Value::tensor(own))
    }
}
