mod encoding {
    use super::super::*;

    #[test]
    fn kinds_of_files_are_distinguished() {
        assert_eq!(check_header(b"\0asm\x0d\0\x01\0"), Ok(()));
        assert_eq!(check_header(b""), Err(InspectError::Empty));
        assert_eq!(check_header(b"\0asm\x01\0\0\0"), Err(InspectError::CoreModule));
        assert_eq!(check_header(b"\0as"), Err(InspectError::Truncated(3)));
        assert_eq!(check_header(b"\0asm\x0d"), Err(InspectError::Truncated(5)));
        assert_eq!(check_header(b"\0asm\x0e\0\x01\0"), Err(InspectError::UnknownKind { version: 14, layer: 1 }));
        assert_eq!(
            check_header(b"#!/bin/sh\n").unwrap_err().to_string(),
            "it is not WebAssembly: it begins with 0x23212f62696e2f73"
        );
    }
}

mod imports {
    use super::super::*;

    #[test]
    fn only_what_is_listed_is_allowed() {
        for good in [
            "wasi:cli/environment@0.2.0",
            "wasi:io/streams@0.2.12",
            "plumbline:plugin/results@0.1.0",
            "plumbline:plugin/judgement@0.1.0",
        ] {
            assert!(allowed(good), "{good}");
        }
        for bad in [
            "wasi:sockets/tcp@0.2.0",
            "wasi:http/types@0.2.0",
            "wasi:cli/environment@0.3.0",
            "wasi:cli/environment",
            "wasi:cli/environments@0.2.0",
            "plumbline:plugin/sockets@0.1.0",
            "env",
            "",
        ] {
            assert!(!allowed(bad), "{bad}");
        }
    }
}
