/// Counts consecutive server errors: a connection that returns nothing else is defective, though it is open.
///
/// APNs is known to answer 500 to everything on one connection, often after it was idle.
struct AnswerStreak {
    let sickAfter: Int
    private var errors = 0

    init(sickAfter: Int) { self.sickAfter = sickAfter }

    /// True when this answer makes the connection sick.
    mutating func saw(status: Int) -> Bool {
        errors = status >= 500 ? errors + 1 : 0
        return errors == sickAfter
    }
}
