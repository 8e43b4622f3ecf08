use plumbline_module___IDENT__::__TYPE__;
use plumbline_sdk::testing::Case;

#[test]
fn each_line_is_an_item() {
    let case = Case::new().file("results/global/node.verdicts", "ok   disk\nbad  clock: 3 s behind\n");
    let run = case.run::<__TYPE__>();
    assert_eq!(run.outline(), "node.verdicts: -\n  disk: passed\n  clock: failed\n");
    // The outcome must not depend on where the host splits the file.
    assert_eq!(case.chunk(1).run::<__TYPE__>(), run);
}
