use super::*;

#[test]
fn the_remaining_time_is_clamped_to_the_clock() {
    assert_eq!(nanoseconds(Some(Duration::from_secs(1))), 1_000_000_000);
    assert_eq!(nanoseconds(Some(Duration::MAX)), u64::MAX);
    assert_eq!(nanoseconds(None), u64::MAX);
}
