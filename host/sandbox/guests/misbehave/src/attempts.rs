//! What a check tries with functions that the SDK does not offer.

use std::hint::black_box;

use plumbline_sdk::guest::check_role::plumbline::plugin::network;
use plumbline_sdk::guest::wasi::wasi::filesystem::preopens::get_directories;
use plumbline_sdk::guest::wasi::wasi::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags,
};
use plumbline_sdk::{Item, Output};

use crate::Behaviour;
use crate::post_processor::forever;

type Outcomes = Vec<(&'static str, Result<(), ErrorCode>)>;

/// Emits an item for each attempt with its outcome.
pub(crate) fn attempt(behaviour: Behaviour, out: &mut Output) {
    let Some(granted) = get_directories().into_iter().find(|(_, path)| path == "/granted") else { return };
    let granted = granted.0;
    let outcomes = match behaviour {
        Behaviour::ReadAbsolute => vec![("/etc/passwd", open(&granted, "/etc/passwd").map(drop))],
        Behaviour::StreamEndless => stream_endless(&granted),
        Behaviour::WriteFile => write(&granted),
        Behaviour::CreateFiles => create(&granted),
        Behaviour::RemoveFiles => {
            vec![("unlink", granted.unlink_file_at("file")), ("remove", granted.remove_directory_at("directory"))]
        }
        Behaviour::RenameFile => vec![("rename", granted.rename_at("file", &granted, "renamed"))],
        Behaviour::OpenFlood => {
            let mut kept = Vec::new();
            forever(|| kept.push(open(&granted, "file")));
            Vec::new()
        }
        Behaviour::StreamFlood => {
            let mut kept = Vec::new();
            forever(|| kept.push(open(&granted, "file").and_then(|file| file.read_via_stream(0))));
            Vec::new()
        }
        // The SDK splits targets into calls of the allowed size.
        Behaviour::TargetFlood => {
            let target = network::Target { host: "a".to_owned(), port: 1 };
            let results = network::connect(&vec![target; 1025], 0, 0);
            out.emit(Item::new(0, results.len().to_string()).meta("outcome", format!("{:?}", results.first())));
            Vec::new()
        }
        _ => Vec::new(),
    };
    for (name, outcome) in outcomes {
        let outcome = outcome.map_or_else(|code| code.name().to_owned(), |()| "done".to_owned());
        out.emit(Item::new(0, name).meta("outcome", outcome));
    }
}

fn open(directory: &Descriptor, path: &str) -> Result<Descriptor, ErrorCode> {
    directory.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ)
}

fn stream_endless(granted: &Descriptor) -> Outcomes {
    let stream = open(granted, "endless").and_then(|file| file.read_via_stream(0));
    match stream {
        Ok(stream) => {
            forever(|| _ = black_box(stream.blocking_read(1 << 20)));
            Vec::new()
        }
        Err(code) => vec![("stream", Err(code))],
    }
}

fn write(granted: &Descriptor) -> Outcomes {
    let writing = granted.open_at(PathFlags::empty(), "file", OpenFlags::empty(), DescriptorFlags::WRITE);
    let truncating = granted.open_at(PathFlags::empty(), "file", OpenFlags::TRUNCATE, DescriptorFlags::READ);
    let mut outcomes = vec![("open", writing.map(drop)), ("truncate", truncating.map(drop))];
    match open(granted, "file") {
        Ok(file) => {
            outcomes.push(("write", file.write(b"changed", 0).map(drop)));
            outcomes.push(("size", file.set_size(0)));
        }
        Err(code) => outcomes.push(("read", Err(code))),
    }
    outcomes
}

fn create(granted: &Descriptor) -> Outcomes {
    let created = granted.open_at(PathFlags::empty(), "new", OpenFlags::CREATE, DescriptorFlags::READ);
    vec![
        ("file", created.map(drop)),
        ("directory", granted.create_directory_at("new")),
        ("link", granted.link_at(PathFlags::empty(), "file", granted, "new")),
        ("symbolic link", granted.symlink_at("file", "new")),
    ]
}
