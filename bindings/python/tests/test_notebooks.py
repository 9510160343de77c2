"""Notebooks: cells of Einlang in Python, and a kernel of its own, run headless."""

import asyncio
import json
import os
import pathlib
import sys

import pytest


nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

import nbformat  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples" / "notebooks"


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """Descriptions of both kernels for this interpreter."""
    from einlang.kernel import install

    home = tmp_path_factory.mktemp("jupyter")
    install(prefix=str(home))
    python = home / "share" / "jupyter" / "kernels" / "python3"
    python.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    about = {"argv": argv, "display_name": "Python 3", "language": "python"}
    (python / "kernel.json").write_text(json.dumps(about))
    before = os.environ.get("JUPYTER_PATH")
    os.environ["JUPYTER_PATH"] = str(home / "share" / "jupyter")
    yield home
    os.environ.pop("JUPYTER_PATH") if before is None else os.environ.update(JUPYTER_PATH=before)


def run(notebook, **more):
    client = nbclient.NotebookClient(notebook, timeout=120, **more)
    client.execute()
    return [cell.get("outputs", []) for cell in notebook.cells if cell.cell_type == "code"]


def text(outputs):
    found = []
    for output in outputs:
        if output.output_type == "stream":
            found.append(output.text)
        elif "data" in output:
            found.append(output.data.get("text/plain", ""))
        else:
            found.append("\n".join(output.traceback))
    return "".join(found)


def html(outputs):
    """The picture or table among the outputs of a cell."""
    return next(output.data["text/html"] for output in outputs if "data" in output)


def notebook(kernel, *cells):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata.kernelspec = {"name": kernel, "display_name": kernel}
    return made


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_examples(kernels, path):
    pytest.importorskip("xarray", reason="xarray is not installed")
    outputs = run(nbformat.read(path, as_version=4))
    shown = [text(one) for one in outputs]
    if path.stem == "regression":
        assert shown[2] == "[ 1.  -2.   0.5] 0.25 True\n"
        assert shown[4] == "True True\n"
        assert shown[5] == "E0311 True\n" or shown[5].startswith("E03")
        assert "<table>" in html(outputs[6])
    if path.stem == "heat":
        assert "[f32; t: 20, x: 32]" in html(outputs[2])
        assert "<svg" in html(outputs[2])
        assert "polyline" in html(outputs[3])
        assert "f32" in shown[4]
        assert "the warmest point is 16" in shown[6]


def test_cells_of_python(kernels):
    outputs = run(
        notebook(
            "python3",
            "import numpy as np\n%load_ext einlang",
            "%%einlang\nfn twice(x: [f64; i]) -> [f64; i] { let y[i] = 2.0 * x[i]; y }",
            "ein_cell.twice(np.ones(2)).tolist()",
            "x = np.arange(3.0)",
            "%%einlang -i x -o y,z\nlet y[i] = x[i] + 1.0;\nlet z = sum[i](y[i]);\nprint(z);",
            "(y.tolist(), float(z))",
            "%%einlang\nfn wrong(x: [f64; i]) { x[j] }",
            "%%einlang -i nothing -o y\nlet y = nothing;",
        ),
        allow_errors=True,
    )
    assert text(outputs[2]) == "[2.0, 2.0]"
    assert text(outputs[4]) == "6.0\n"
    assert text(outputs[5]) == "([1.0, 2.0, 3.0], 6.0)"
    assert "E0301" in text(outputs[6]) and "^" in text(outputs[6])
    assert "`nothing`" in text(outputs[7])


@pytest.mark.parametrize(
    "line, says",
    [
        ("-i 'x -o y", "No closing quotation"),
        ("-q", "unrecognized arguments: -q"),
        ("-i", "expected one argument"),
        ("-o y extra", "unrecognized arguments: extra"),
        ("-m 'a b'", "cannot be a name"),
        ("-o y --engine gpu", "no engine"),
        ("-i nowhere -o y", "no variable `nowhere`"),
        ("-i nothing -o y", "`nothing` is a `NoneType`"),
        ("-o z", "no output `z`"),
    ],
)
def test_mistakes_in_the_options_of_cells(line, says):
    from einlang import _magics, EinlangError

    with pytest.raises(EinlangError, match=says) as caught:
        _magics.cell(line, "let y = 1;", {"x": 1.0, "nothing": None})
    assert caught.value.code


@pytest.mark.parametrize("rank", range(6))
def test_pictures_of_all_numbers(rank):
    import numpy as np

    import einlang as ein

    for extent in (0, 1, 3):
        for number in (0.0, np.nan, np.inf, -np.inf, 1e308, 5e-324):
            x = np.full((extent,) * rank, number)
            if x.size > 1:
                x.flat[0] = -number
            shown = ein.Tensor(x, dims=["<i>"] + [None] * (rank - 1) if rank else [])._repr_html_()
            assert shown.count("<table>") == shown.count("</table>") and "<i>" not in shown
    if rank == 1:
        shown = ein.Tensor(np.arange(5000.0))._repr_html_()
        assert "<th>4999</th>" in shown and "<td>4999</td>" in shown


def test_the_kernel(kernels):
    outputs = run(
        notebook(
            "einlang",
            "let a = [[1.0, 2.0], [3.0, 4.0]];",
            "a",
            "let b[row, col] = a[col, row];\nb",
            "nothing + 1",
            "print(a[0, 1])",
            ":type a",
            ":plan sum[i, j](a[i, j])",
            ":help",
        ),
        allow_errors=True,
    )
    assert outputs[0] == []
    assert "<table>" in html(outputs[1])
    assert "row" in html(outputs[2]) and "col" in html(outputs[2])
    assert outputs[3][0].output_type == "error" and "E0201" in text(outputs[3])
    assert text(outputs[4]) == "2.0\n"
    assert "f32" in text(outputs[5])
    assert "kernel" in text(outputs[6])
    assert ":plan" in text(outputs[7])


def test_completion_inspection_and_interrupts(kernels):
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="einlang")
    try:
        client.execute("let alpha = [1.0, 2.0];", reply=True, timeout=60)
        found = client.complete("alp", reply=True, timeout=60)["content"]
        assert found["matches"] == ["alpha"] and found["cursor_start"] == 0
        found = client.inspect("alpha", reply=True, timeout=60)["content"]
        assert found["found"] and "f32" in found["data"]["text/plain"]

        def ask(code):
            client.is_complete(code)
            return client.get_shell_msg(timeout=60)["content"]["status"]

        assert (ask("fn f() {"), ask("let x = 1;")) == ("incomplete", "complete")
        client.execute("let long = sum[i in 0..100000, j in 0..1000000000]((i + j) % 11);")
        asyncio.run(asyncio.sleep(2))
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=60)
        assert reply["content"]["status"] == "error"
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        done = client.execute("alpha", reply=True, timeout=60)
        assert done["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
