//! What the module can do wrong.

use plumbline_sdk::PluginInfo;
use serde_json::Value;

macro_rules! behaviours {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// What the module does when it is called.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Behaviour {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Behaviour {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The value of the option `behaviour`.
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
    /// Nothing wrong: an item for each file with its size as read, or one result for each node.
    Behave = "behave",
    /// Emits nothing.
    Silence = "silence",
    /// Never returns.
    EndlessLoop = "endless-loop",
    /// Calls itself without end, with nothing in the frames.
    Recursion = "recursion",
    /// Calls itself without end, with frames that hold arrays in memory.
    LargeFrames = "large-frames",
    /// Allocates without end.
    MemoryGrowth = "memory-growth",
    /// Emits without end.
    ItemFlood = "item-flood",
    /// Emits large items without end.
    ByteFlood = "byte-flood",
    /// Emits items with more meta than fits one.
    MetaFlood = "meta-flood",
    /// Writes to the log many times, then returns.
    LogFlood = "log-flood",
    /// Writes one line of many bytes and control characters, then returns.
    LongLine = "long-line",
    /// Emits an item whose name is larger than a host call may carry.
    HugeString = "huge-string",
    /// Emits an item whose name is longer than a name may be.
    LongName = "long-name",
    /// Emits an item without a name.
    EmptyName = "empty-name",
    /// Emits an item with a status of its own that is too long.
    LongStatus = "long-status",
    /// Emits an item with a detail that is larger than an item may be.
    LargeDetail = "large-detail",
    /// Emits a first item that is not a root.
    FirstDepth = "first-depth",
    /// Emits an item two levels below the one before it.
    DepthJump = "depth-jump",
    /// Emits ever deeper items.
    DeepTree = "deep-tree",
    /// Emits a detail as JSON that is none.
    InvalidJson = "invalid-json",
    /// Emits a detail as JSON that is nested without end.
    DeepJson = "deep-json",
    /// Emits a detail as JSON that is small as text and large as a tree.
    JsonBomb = "json-bomb",
    /// Emits a batch of good items with a bad one in it, after a batch of good ones.
    BadBatch = "bad-batch",
    /// Emits some items, then panics.
    PanicHalfway = "panic-halfway",
    /// Emits some items, then says why it cannot go on.
    RefuseHalfway = "refuse-halfway",
    /// Says why it cannot go on at great length.
    LongRefusal = "long-refusal",
    /// Reads every file to its end, which may not come.
    ReadFlood = "read-flood",
    /// As an expectation: names a node that it was not told of.
    Stranger = "stranger",
    /// As an expectation: names a result twice; as a judge: reports a check twice.
    Twice = "twice",
    /// As an expectation or a judge: emits an item.
    EmitOutOfRole = "emit-out-of-role",
    /// As a summarizer or a judge: goes on reading after the end.
    ReadAfterEnd = "read-after-end",
    /// As a summarizer or a judge: never reads.
    ReadNothing = "read-nothing",
    /// As a judge: rules on an item that it was not given.
    RuleUnread = "rule-unread",
    /// As a judge: rules on an item that has children.
    RuleParent = "rule-parent",
    /// As a judge: reads the whole tree, lets go of it, and only then rules.
    RuleLate = "rule-late",
    /// As a judge: rules on an item twice.
    RuleTwice = "rule-twice",
    /// As a judge: rules without end.
    RuleFlood = "rule-flood",
    /// As a judge: rules with a class that cannot be one.
    BadClass = "bad-class",
    /// As a judge: reports more checks than a person reads.
    CheckFlood = "check-flood",
    /// As a post-processor: rules on an item.
    RuleOutOfRole = "rule-out-of-role",
}

impl Behaviour {
    /// What the definition's options ask for.
    pub(crate) fn of(plugin: &PluginInfo) -> Result<Self, String> {
        let name = plugin.options.get("behaviour").and_then(Value::as_str).unwrap_or_default();
        let known = Self::ALL.iter().find(|behaviour| behaviour.name() == name);
        known.copied().ok_or_else(|| format!("unknown behaviour `{name}`"))
    }
}
