/// The clock of the person who looks at a page.
struct Viewer: Sendable {
    var zone = ZoneInfo.utc
    /// The time at which the page is made; nil where times are not compared with it.
    var now: Instant?

    /// The person whose request is answered.
    @TaskLocal static var current = Viewer()
}
