use super::*;

#[test]
fn a_panic_of_the_compiler_is_an_error_of_its_module() {
    let panic = catch_unwind(|| -> () { panic!("no {}", "good") }).unwrap_err();
    assert_eq!(broken_off(&*panic).to_string(), "the compiler was interrupted: no good");
}
