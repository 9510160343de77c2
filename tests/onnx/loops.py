"""Loops and scans that ONNX's own tests do not have: conditions and lengths that data decide, many steps."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def port(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def model(nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "loops", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def newton():
    """A step of Newton's method for roots; it goes on while something moves."""
    node = helper.make_node
    nodes = [
        node("Div", ["a", "x"], ["q"]), node("Add", ["x", "q"], ["s"]), node("Mul", ["s", "half"], ["y"]),
        node("Sub", ["y", "x"], ["d"]), node("Abs", ["d"], ["e"]), node("ReduceMax", ["e"], ["m"], keepdims=0),
        node("Greater", ["m", "least"], ["go"]), node("Identity", ["y"], ["row"]),
    ]
    return helper.make_graph(
        nodes, "newton", [port("i", INT64, []), port("c", BOOL, []), port("x", FLOAT, [3])],
        [port("go", BOOL, []), port("y", FLOAT, [3]), port("row", FLOAT, [3])],
        [constant("half", np.float32(0.5)), constant("least", np.float32(1e-3))],
    )


def counted():
    """A step that reads its number."""
    node = helper.make_node
    nodes = [
        node("Cast", ["i"], ["f"], to=FLOAT), node("Mul", ["x", "w"], ["z"]), node("Add", ["z", "f"], ["y"]),
        node("ReduceSum", ["y"], ["row"], keepdims=0), node("Identity", ["c"], ["go"]),
    ]
    return helper.make_graph(
        nodes, "counted", [port("i", INT64, []), port("c", BOOL, []), port("x", FLOAT, [2, 2])],
        [port("go", BOOL, []), port("y", FLOAT, [2, 2]), port("row", FLOAT, [])],
        [constant("w", np.float32(0.5))],
    )


def scanned():
    """A step over columns, with two things that are carried. Its names are those of the graph around it."""
    node = helper.make_node
    nodes = [
        node("Mul", ["h", "w"], ["z"]), node("Add", ["z", "u"], ["v"]), node("Add", ["n", "one"], ["k"]),
        node("Tanh", ["v"], ["o"]), node("ReduceMax", ["v"], ["p"], keepdims=0),
    ]
    return helper.make_graph(
        nodes, "scanned", [port("h", FLOAT, [4]), port("n", INT64, []), port("u", FLOAT, [4])],
        [port("v", FLOAT, [4]), port("k", INT64, []), port("o", FLOAT, [4]), port("p", FLOAT, [])],
        [constant("w", np.float32(0.5)), constant("one", np.int64(1))],
    )


def cases():
    """Name, model, inputs and outputs of each."""
    node = helper.make_node
    rows = [port("r", FLOAT, [3]), port("rows", FLOAT, [None, 3])]
    a, x0 = np.array([2, 3, 10], np.float32), np.ones(3, np.float32)
    ends = model(
        [node("Loop", ["", "t", "x0"], ["r", "rows"], body=newton())],
        [port("a", FLOAT, [3]), port("x0", FLOAT, [3])], rows, [constant("t", True)],
    )
    limited = model(
        [node("Loop", ["M", "c0", "x0"], ["r", "rows"], body=newton())],
        [port("M", INT64, []), port("c0", BOOL, []), port("a", FLOAT, [3]), port("x0", FLOAT, [3])], rows,
    )
    # A loop that only its condition ends, as exporters write it.
    endless = model(
        [node("Loop", ["M", "t", "x0"], ["r", "rows"], body=newton())],
        [port("a", FLOAT, [3]), port("x0", FLOAT, [3])], rows,
        [constant("M", np.int64(2**63 - 1)), constant("t", True)],
    )
    long = model(
        [node("Loop", ["M", "", "x0"], ["r", "rows"], body=counted())], [port("x0", FLOAT, [2, 2])],
        [port("r", FLOAT, [2, 2]), port("rows", FLOAT, [100])], [constant("M", np.int64(100))],
    )
    scan = model(
        [node(
            "Scan", ["h0", "n0", "X"], ["h", "n", "O", "P"], body=scanned(), num_scan_inputs=1, scan_input_axes=[1],
            scan_input_directions=[1], scan_output_axes=[1, 0], scan_output_directions=[0, 1],
        )],
        [port("h0", FLOAT, [4]), port("X", FLOAT, [4, "N"])],
        [port("h", FLOAT, [4]), port("n", INT64, []), port("O", FLOAT, [4, "N"]), port("P", FLOAT, ["N"])],
        [constant("n0", np.int64(0))],
    )
    x = np.random.default_rng(0).standard_normal((4, 70)).astype(np.float32)
    for name, its, feeds in [
        ("loop_until", ends, {"a": a, "x0": x0}),
        ("loop_endless", endless, {"a": a, "x0": x0}),
        ("loop_limited", limited, {"M": np.int64(3), "c0": np.bool_(True), "a": a, "x0": x0}),
        ("loop_not_begun", limited, {"M": np.int64(3), "c0": np.bool_(False), "a": a, "x0": x0}),
        ("loop_of_no_steps", limited, {"M": np.int64(0), "c0": np.bool_(True), "a": a, "x0": x0}),
        ("loop_long", long, {"x0": np.ones((2, 2), np.float32)}),
        ("scan_long", scan, {"h0": np.zeros(4, np.float32), "X": x}),
        ("scan_of_one", scan, {"h0": np.ones(4, np.float32), "X": x[:, :1]}),
    ]:
        feeds = {key: np.asarray(value) for key, value in feeds.items()}
        session = onnxruntime.InferenceSession(its.SerializeToString())
        outputs = [np.asarray(it) for it in session.run(None, feeds)]
        yield name, its, feeds, outputs
