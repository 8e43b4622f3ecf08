mod reading {
    use std::sync::Arc;

    use super::super::*;
    use crate::call::io::ResultSource;

    /// Yields a number of entries of a given size, and then an optional error.
    struct Made(u32, usize, Option<&'static str>);

    impl ResultSource for Made {
        fn next(&mut self) -> io::Result<Option<Entry>> {
            if let Some(left) = self.0.checked_sub(1) {
                self.0 = left;
                let item = FlatItem { name: "n".repeat(self.1), ..FlatItem::default() };
                return Ok(Some(Entry { set: String::new(), item }));
            }
            self.2.map_or(Ok(None), |error| Err(io::Error::other(error)))
        }
    }

    fn reading(mut source: Made, limit: u64) -> Reading<Entry> {
        Reading::new(Some(Box::new(move || source.next())), limit)
    }

    fn next(reading: &mut Reading<Entry>, max: u32) -> Result<Result<usize, String>, Stop> {
        let clock = Clock::start(1000, Arc::default());
        reading.next(max, &clock).map(|batch| batch.map(|batch| batch.len()))
    }

    #[test]
    fn entries_come_in_batches_and_the_end_stays_the_end() {
        let mut few = reading(Made(5, 1, None), u64::MAX);
        let counts: Vec<usize> = [2, 0, 100, 100, 100].map(|max| next(&mut few, max).unwrap().unwrap()).into();
        assert_eq!(counts, [2, 1, 2, 0, 0], "at least one, whatever is asked for");
        let mut many = reading(Made(3000, 1, None), u64::MAX);
        assert_eq!(next(&mut many, u32::MAX), Ok(Ok(MAX_BATCH)));
        let mut large = reading(Made(9, 1 << 19, None), u64::MAX);
        assert_eq!(next(&mut large, 9), Ok(Ok(2)));
    }

    #[test]
    fn a_failure_comes_after_what_could_be_read_and_stays() {
        let mut source = reading(Made(2, 1, Some("the disk is on fire")), u64::MAX);
        assert_eq!(next(&mut source, 9), Ok(Ok(2)));
        let failure = Ok(Err("failed to read the results: the disk is on fire".to_owned()));
        assert_eq!((next(&mut source, 9), next(&mut source, 9)), (failure.clone(), failure));
    }

    #[test]
    fn all_reads_together_are_bounded() {
        let mut source = reading(Made(u32::MAX, 68, None), 1000);
        assert_eq!(next(&mut source, 10), Ok(Ok(10)));
        assert_eq!(source.read, 1000);
        assert_eq!(next(&mut source, 1), Err(Stop::limit("input-bytes", 1000, Unit::Bytes)));
    }

    #[test]
    fn nothing_is_read_of_what_was_closed_or_never_there() {
        let mut closed = reading(Made(2, 1, None), u64::MAX);
        closed.close();
        assert_eq!(next(&mut closed, 1), Ok(Ok(0)));
        assert_eq!(next(&mut Reading::<Entry>::new(None, 0), 1), Ok(Ok(0)));
    }
}

mod files {
    use std::io::{self, Cursor};
    use std::sync::Arc;

    use super::super::*;

    fn file(open: impl FnOnce() -> io::Result<Box<dyn Read + Send>> + Send + 'static) -> InputFile {
        InputFile { path: "results/global/a".into(), size: 7, open: Box::new(open) }
    }

    fn clock() -> Clock {
        Clock::start(1000, Arc::default())
    }

    /// Returns one byte at a time and then fails.
    struct Flaky(u8);

    impl Read for Flaky {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 -= 1;
            if self.0 == 0 {
                return Err(io::Error::other("the disk is on fire"));
            }
            buffer[0] = self.0;
            Ok(1)
        }
    }

    #[test]
    fn reads_to_the_end_and_stays_there() {
        let mut files = Files::new(vec![file(|| Ok(Box::new(Cursor::new(b"1234567"))))], 7);
        assert_eq!((files.path(0), files.size(0)), (Some("results/global/a"), Some(7)));
        let mut read = |max| files.read(0, max, &clock()).unwrap().unwrap();
        assert_eq!(read(4), b"1234");
        assert_eq!(read(4), b"567");
        assert_eq!(read(4), b"");
        assert_eq!(read(4), b"");
        assert_eq!(files.read, 7);
    }

    #[test]
    fn failures_reach_the_module() {
        let mut files = Files::new(vec![file(|| Err(io::Error::other("gone"))), file(|| Ok(Box::new(Flaky(3))))], 100);
        assert_eq!(files.read(0, 4, &clock()).unwrap().unwrap_err(), "failed to open the file: gone");
        assert_eq!(files.read(0, 4, &clock()).unwrap().unwrap_err(), "failed to open the file: gone");
        assert_eq!(files.read(1, 4, &clock()).unwrap().unwrap(), [2, 1]);
        assert_eq!(files.read(1, 4, &clock()).unwrap().unwrap_err(), "failed to read the file: the disk is on fire");
        files.close(1);
        assert_eq!(files.read(1, 4, &clock()).unwrap().unwrap_err(), "the file is closed");
        assert_eq!(files.read(9, 4, &clock()).unwrap().unwrap_err(), "the file is closed");
    }

    #[test]
    fn a_read_is_bounded_and_all_reads_together_too() {
        let mut files = Files::new(vec![file(|| Ok(Box::new(io::repeat(1))))], MAX_READ as u64);
        assert_eq!(files.read(0, u32::MAX, &clock()).unwrap().unwrap().len(), MAX_READ);
        let stop = files.read(0, 1, &clock()).unwrap_err();
        assert_eq!(stop, Stop::limit("input-bytes", MAX_READ as u64, Unit::Bytes));
    }

    #[test]
    fn a_file_is_not_opened_before_it_is_read() {
        let files = Files::new(vec![file(|| panic!("opened"))], 1);
        assert_eq!(files.files.len(), 1);
    }
}
