//! The ways in which the module can misbehave.

use plumbline_sdk::PluginInfo;
use serde_json::Value;

macro_rules! behaviours {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// The behavior of the module when it is called.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Behaviour {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Behaviour {
            /// All behaviors.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the value of the option `behaviour`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

behaviours! {
    /// Behaves correctly: emits an item for each file with its size as read, or expects one result
    /// per node.
    Behave = "behave",
    /// Emits nothing.
    Silence = "silence",
    /// Never returns.
    EndlessLoop = "endless-loop",
    /// Recurses endlessly, with empty frames.
    Recursion = "recursion",
    /// Recurses endlessly, with frames that contain arrays in memory.
    LargeFrames = "large-frames",
    /// Allocates memory endlessly.
    MemoryGrowth = "memory-growth",
    /// Emits items endlessly.
    ItemFlood = "item-flood",
    /// Emits large items endlessly.
    ByteFlood = "byte-flood",
    /// Emits items with more metadata than an item may have.
    MetaFlood = "meta-flood",
    /// Writes to the log many times, then returns.
    LogFlood = "log-flood",
    /// Writes one long line with control characters, then returns.
    LongLine = "long-line",
    /// Emits an item whose name exceeds the size of a host call.
    HugeString = "huge-string",
    /// Emits an item whose name is too long.
    LongName = "long-name",
    /// Emits an item without a name.
    EmptyName = "empty-name",
    /// Emits an item with a custom status that is too long.
    LongStatus = "long-status",
    /// Emits items endlessly, each with a custom status of its own.
    StatusFlood = "status-flood",
    /// Emits an item with a detail that exceeds the size of an item.
    LargeDetail = "large-detail",
    /// Emits a first item that is not a root.
    FirstDepth = "first-depth",
    /// Emits an item two levels below the previous one.
    DepthJump = "depth-jump",
    /// Emits items of increasing depth.
    DeepTree = "deep-tree",
    /// Emits a detail with invalid JSON.
    InvalidJson = "invalid-json",
    /// Emits a detail with endlessly nested JSON.
    DeepJson = "deep-json",
    /// Emits a detail with JSON that is small as text and large as a tree.
    JsonBomb = "json-bomb",
    /// Emits a batch of valid items, and then a batch with an invalid one.
    BadBatch = "bad-batch",
    /// Emits some items, then panics.
    PanicHalfway = "panic-halfway",
    /// Emits some items, then returns an error.
    RefuseHalfway = "refuse-halfway",
    /// Emits some items, then never returns. As a check: reports progress meanwhile.
    LoopHalfway = "loop-halfway",
    /// Returns a very long error.
    LongRefusal = "long-refusal",
    /// Reads every file to its end, if there is one.
    ReadFlood = "read-flood",
    /// As an expectations module: returns an unknown node.
    Stranger = "stranger",
    /// As an expectations module: returns a result twice. As a judge: reports a check twice.
    Twice = "twice",
    /// As an expectations module or judge: emits an item.
    EmitOutOfRole = "emit-out-of-role",
    /// As a summarizer or judge: continues to read after the end.
    ReadAfterEnd = "read-after-end",
    /// As a summarizer or judge: never reads.
    ReadNothing = "read-nothing",
    /// As a judge: rules on an item that it has not read.
    RuleUnread = "rule-unread",
    /// As a judge: rules on an item that has children.
    RuleParent = "rule-parent",
    /// As a judge: reads the whole tree, drops it, and only then rules.
    RuleLate = "rule-late",
    /// As a judge: rules on an item twice.
    RuleTwice = "rule-twice",
    /// As a judge: makes rulings endlessly.
    RuleFlood = "rule-flood",
    /// As a judge: uses an invalid class.
    BadClass = "bad-class",
    /// As a judge: reports more checks than allowed.
    CheckFlood = "check-flood",
    /// As a post-processor: rules on an item.
    RuleOutOfRole = "rule-out-of-role",
    /// As a post-processor: reads the cluster.
    ClusterOutOfRole = "cluster-out-of-role",
    /// As a post-processor: sends a request, resolves a name, and connects.
    NetworkOutOfRole = "network-out-of-role",
    /// As a post-processor: reports progress.
    ProgressOutOfRole = "progress-out-of-role",
    /// As a check: opens a file outside the granted directory by `..`.
    ReadParent = "read-parent",
    /// As a check: opens a file by its absolute path.
    ReadAbsolute = "read-absolute",
    /// As a check: opens a file outside the granted directory by a link.
    ReadLink = "read-link",
    /// As a check: lists a directory outside the granted directory by a link.
    ListLink = "list-link",
    /// As a check: opens a file by the link to the root in `/proc`.
    ReadProcRoot = "read-proc-root",
    /// As a check: reads its environment and memory in `/proc`.
    ReadProcOwn = "read-proc-own",
    /// As a check: opens a pipe that nobody writes to.
    ReadPipe = "read-pipe",
    /// As a check: opens a device.
    ReadDevice = "read-device",
    /// As a check: emits some items, then reads the file that the option `file` names.
    ReadNamed = "read-named",
    /// As a check: opens files and directories that are replaced meanwhile, until it has opened one
    /// and was refused another one.
    ReadRaced = "read-raced",
    /// As a check: opens files in a file system that is mounted in the granted directory, and leaves
    /// it by `..` and by links.
    ReadMounted = "read-mounted",
    /// As a check: reads a file without end.
    ReadEndless = "read-endless",
    /// As a check: reads a file without end as a stream.
    StreamEndless = "stream-endless",
    /// As a check: lists a directory endlessly.
    ListEndless = "list-endless",
    /// As a check: writes to a file and changes its size.
    WriteFile = "write-file",
    /// As a check: creates files, directories and links.
    CreateFiles = "create-files",
    /// As a check: removes files and directories.
    RemoveFiles = "remove-files",
    /// As a check: renames a file.
    RenameFile = "rename-file",
    /// As a check: reads an environment variable that is not granted.
    ReadEnv = "read-env",
    /// As a check: opens files endlessly.
    OpenFlood = "open-flood",
    /// As a check: opens files as streams endlessly.
    StreamFlood = "stream-flood",
    /// As a check: opens lists of objects until it fails, and continues.
    ListFlood = "list-flood",
    /// As a check: reads a list of objects that never ends.
    ObjectFlood = "object-flood",
    /// As a check: reads objects without a grant.
    ReadObjects = "read-objects",
    /// As a check: reads pods in the namespace that the option `namespace` names, and then other
    /// objects: in other namespaces and versions, and of other resources.
    ReadOtherObjects = "read-other-objects",
    /// As a check: emits some items, then waits for objects.
    WaitForObjects = "wait-for-objects",
    /// As a check: reads owners outside the granted directory.
    ReadOwners = "read-owners",
    /// As a check: reaches hosts without a grant.
    ReachHosts = "reach-hosts",
    /// As a check: sends requests endlessly.
    RequestFlood = "request-flood",
    /// As a check: sends a request with too large parts.
    LargeRequest = "large-request",
    /// As a check: connects to more targets than a call may have.
    TargetFlood = "target-flood",
    /// As a check: waits for a host longer than its time.
    WaitForHost = "wait-for-host",
    /// As a check: waits for a response longer than its time.
    WaitForResponse = "wait-for-response",
    /// As a check: sends a request, and another one to the location that the response names.
    FollowRedirect = "follow-redirect",
    /// As a check: sends requests to the metadata services of clouds, by address and by name, and
    /// connects to them.
    ReachMetadata = "reach-metadata",
    /// As a check: uses one name again and again, which may get another address in between.
    Rebind = "rebind",
    /// As a check: reports progress many times.
    ProgressFlood = "progress-flood",
}

impl Behaviour {
    /// Returns the behavior that the definition's options select.
    pub(crate) fn of(plugin: &PluginInfo) -> Result<Self, String> {
        let name = plugin.options.get("behaviour").and_then(Value::as_str).unwrap_or_default();
        let known = Self::ALL.iter().find(|behaviour| behaviour.name() == name);
        known.copied().ok_or_else(|| format!("unknown behaviour `{name}`"))
    }
}
