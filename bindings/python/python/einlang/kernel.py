"""A Jupyter kernel of its own, on `ipykernel`: `python -m einlang.kernel install`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile

from ipykernel.kernelbase import Kernel

from . import _display, __version__
from ._einlang import Tensor
from ._errors import EinlangError
from ._session import Session, word_start

COMMANDS = {
    ":type": "the type of an expression",
    ":plan": "how an entry would be computed",
    ":layout": "the coordinates and extents of a binding",
    ":help": "these commands",
}


class _Stream:
    """What the program prints, as an output of the cell that runs; it prints on another thread."""

    def __init__(self, kernel, parent):
        self.kernel, self.parent = kernel, parent

    def write(self, text):
        content = {"name": "stdout", "text": text}
        self.kernel.session.send(self.kernel.iopub_socket, "stream", content, parent=self.parent)

    def flush(self):
        pass


class EinlangKernel(Kernel):
    """Cells are entries of a session."""

    implementation = "einlang"
    implementation_version = __version__
    language = "einlang"
    language_version = __version__
    banner = f"Einlang {__version__}: a tensor language in which axes have names"
    language_info = {
        "name": "einlang",
        "mimetype": "text/x-einlang",
        "file_extension": ".ein",
        "codemirror_mode": "rust",
        "pygments_lexer": "rust",
    }

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.session_of_entries = Session()

    def do_execute(
        self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, **more
    ):
        """Runs an entry, or a command that begins with a colon."""
        try:
            self._enter(code, silent)
        except EinlangError as error:
            text = "\n".join(one.coloured for one in error.diagnostics) or str(error)
            return self._failed(type(error).__name__, error.code, text.splitlines(), silent)
        except KeyboardInterrupt:
            return self._failed("KeyboardInterrupt", "", ["interrupted"], silent)
        return {
            "status": "ok",
            "execution_count": self.execution_count,
            "payload": [],
            "user_expressions": {},
        }

    def _enter(self, code, silent):
        text = code.strip()
        if not text:
            return
        if text.startswith(":"):
            self._show({"text/plain": self._command(text)}, silent)
            return
        before, sys.stdout = sys.stdout, _Stream(self, self.get_parent())
        try:
            answer = self.session_of_entries.answer(code)
        finally:
            sys.stdout = before
        for warning in answer.warnings:
            self.send_response(
                self.iopub_socket, "stream", {"name": "stderr", "text": f"{warning.coloured}\n"}
            )
        if answer.text is not None:
            data = {"text/plain": answer.text}
            if isinstance(answer.value, Tensor):
                data["text/html"] = _display.html(answer.value)
            self._show(data, silent)

    def _command(self, text):
        command, _, rest = text.partition(" ")
        session = self.session_of_entries
        if command == ":type":
            return session.type(rest)
        if command == ":plan":
            return session.plan(rest)
        if command == ":layout":
            return session._layout_of(rest.strip()) or f"there is no binding `{rest.strip()}`"
        return "\n".join(f"{name:8} {what}" for name, what in COMMANDS.items())

    def _show(self, data, silent):
        if silent:
            return
        content = {"execution_count": self.execution_count, "data": data, "metadata": {}}
        self.send_response(self.iopub_socket, "execute_result", content)

    def _failed(self, name, value, lines, silent):
        content = {"ename": name, "evalue": value, "traceback": lines}
        if not silent:
            self.send_response(self.iopub_socket, "error", content)
        return {"status": "error", "execution_count": self.execution_count, **content}

    def do_complete(self, code, cursor_pos):
        """Names of the program and of the library, and commands."""
        before = code[:cursor_pos]
        if before.startswith(":") and " " not in before:
            start, matches = 0, [name for name in COMMANDS if name.startswith(before)]
        else:
            start = word_start(code, cursor_pos)
            matches = self.session_of_entries.complete(code, cursor_pos)
        return {
            "status": "ok",
            "matches": matches,
            "cursor_start": start,
            "cursor_end": cursor_pos,
            "metadata": {},
        }

    def do_inspect(self, code, cursor_pos, detail_level=0, omit_sections=()):
        """The type and layout of the name at the cursor."""
        end = cursor_pos
        while end < len(code) and (code[end].isalnum() or code[end] in "_:"):
            end += 1
        name = code[word_start(code, end) : end]
        found = self.session_of_entries.inspect(name) if name else None
        data = {"text/plain": found} if found else {}
        return {"status": "ok", "found": bool(found), "data": data, "metadata": {}}

    def do_is_complete(self, code):
        """Whether an entry may be run, or more must follow."""
        if code.strip().startswith(":") or self.session_of_entries.is_complete(code):
            return {"status": "complete"}
        return {"status": "incomplete", "indent": "    "}

    def do_shutdown(self, restart):
        """Forgets everything."""
        self.session_of_entries = Session()
        return {"status": "ok", "restart": restart}


def install(user: bool = False, prefix: str | None = None) -> str:
    """Registers the kernel with Jupyter; gives the folder of its description."""
    from jupyter_client.kernelspec import KernelSpecManager

    about = {
        "argv": [sys.executable, "-m", "einlang.kernel", "-f", "{connection_file}"],
        "display_name": "Einlang",
        "language": "einlang",
        "interrupt_mode": "signal",
    }
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as file:
            json.dump(about, file, indent=2)
        manager = KernelSpecManager()
        return manager.install_kernel_spec(folder, "einlang", user=user, prefix=prefix)


def main(arguments: list[str] | None = None) -> None:
    """`install` registers the kernel; anything else runs it, as Jupyter asks for."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["install"]:
        parser = argparse.ArgumentParser(prog="python -m einlang.kernel install")
        where = parser.add_mutually_exclusive_group()
        where.add_argument("--user", action="store_true", help="for this user")
        where.add_argument("--sys-prefix", action="store_true", help="into this environment")
        where.add_argument("--prefix", help="below this folder")
        options = parser.parse_args(arguments[1:])
        inside = sys.prefix != sys.base_prefix
        prefix = sys.prefix if options.sys_prefix or (inside and not options.user) else None
        prefix = options.prefix or prefix
        print("installed in", install(user=options.user or prefix is None, prefix=prefix))
        return
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(kernel_class=EinlangKernel, argv=arguments)


if __name__ == "__main__":
    main()
