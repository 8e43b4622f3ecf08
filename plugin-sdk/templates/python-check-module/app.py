"""A check that compares settings of the kernel with the values that they should have."""

from plumbline_sdk import Context, Item, ModuleError, Output, Plugin, Status, check

# The directory of the settings. The definition grants it.
DIRECTORY = "/proc/sys"
# The settings without the option `settings`.
DEFAULT = {"fs/protected_hardlinks": "1", "kernel/panic_on_oops": "1"}


@check
def compare(plugin: Plugin, context: Context, out: Output) -> None:
    settings = read_options(plugin)
    for done, (name, want) in enumerate(sorted(settings.items())):
        context.progress(done, len(settings), name)
        try:
            got = context.read_text(f"{DIRECTORY}/{name}").strip()
        except FileNotFoundError as error:
            out.emit(Item(name, 0, Status.SKIPPED, details={"reason": str(error)}))
        except OSError as error:
            # What cannot be read never passes.
            out.emit(Item(name, 0, Status.UNKNOWN, meta={"error": str(error)}))
        else:
            if got == want:
                out.emit(Item(name, 0, Status.PASSED))
            else:
                out.emit(Item(name, 0, Status.FAILED, details={"failure": f"want {want}, got {got}"}))
    context.progress(len(settings), len(settings), "done")


def read_options(plugin: Plugin) -> "dict[str, str]":
    unknown = sorted(set(plugin.options) - {"settings"})
    if unknown:
        raise ModuleError(f"unknown option `{unknown[0]}`: the only one is `settings`")
    settings = plugin.options.get("settings", DEFAULT)
    if not isinstance(settings, dict) or not all(isinstance(want, str) for want in settings.values()):
        raise ModuleError("the option `settings` must be a mapping of names to strings")
    return settings
