mod clock {
    use super::super::*;

    #[test]
    fn no_time_is_over_at_once_and_endless_time_never() {
        let clock = Clock::start(0, Arc::default());
        assert_eq!(clock.check(), Err(Stop::limit("wall-seconds", 0, Unit::Seconds)));
        assert_eq!(clock.left(), Some(Duration::ZERO));
        let clock = Clock::start(u64::MAX, Arc::default());
        assert_eq!(clock.check(), Ok(()));
        assert_eq!(clock.left(), None);
    }

    #[test]
    fn giving_up_ends_it() {
        let given_up = Arc::new(AtomicBool::new(false));
        let clock = Clock::start(1000, Arc::clone(&given_up));
        assert_eq!(clock.check(), Ok(()));
        given_up.store(true, Ordering::Relaxed);
        assert_eq!(clock.check(), Err(Stop::Gone));
    }
}

mod limiter {
    use super::super::*;

    #[test]
    fn several_memories_count_together() {
        let mut limiter = Limiter::new(100, 10);
        assert!(limiter.memory_growing(0, 40, None).unwrap());
        assert!(limiter.memory_growing(0, 40, Some(50)).unwrap());
        assert!(!limiter.memory_growing(40, 60, Some(50)).unwrap());
        assert!(limiter.memory_growing(40, 60, None).unwrap());
        assert_eq!(limiter.memory.used, 100);
        let error = limiter.memory_growing(60, 61, None).unwrap_err();
        assert_eq!(error.downcast_ref::<Stop>(), Some(&Stop::limit("memory", 100, Unit::Bytes)));
        let error = limiter.table_growing(0, 11, None).unwrap_err();
        assert_eq!(error.downcast_ref::<Stop>(), Some(&Stop::limit("table-elements", 10, Unit::Elements)));
    }
}
