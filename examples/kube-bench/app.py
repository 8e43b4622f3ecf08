"""Results of kube-bench (checks of the CIS benchmarks for Kubernetes) become items: file, benchmark, section, check."""

from plumbline_sdk import InputFile, Item, Output, Plugin, ReadError, Status, post_processor

from kube_bench.benchmark import emit_benchmark
from kube_bench.document import NotKubeBench, benchmarks
from kube_bench.options import Options


@post_processor
def process(plugin: Plugin, files: list[InputFile], out: Output) -> None:
    options = Options.read(plugin.options)
    for file in files:
        out.emit(Item(file.file_name, meta={"file": file.path, "type": "file"}))
        checks = 0
        try:
            for benchmark in benchmarks(file.text()):
                checks += emit_benchmark(benchmark, options, out)
        except (ReadError, NotKubeBench) as error:
            out.emit(Item("unreadable", 1, Status.UNKNOWN, {"error": error}))
            continue
        if checks == 0:
            out.emit(Item("no checks", 1, Status.UNKNOWN, {"error": "kube-bench ran no check: is there a benchmark for this cluster?"}))
