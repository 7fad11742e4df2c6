/// Looks again and again until it is so; throws with what was waited for when it never is.
func eventually(
    _ hope: String, within deadline: Duration = .seconds(600), every pace: Duration = .milliseconds(20),
    _ isSo: () async throws -> Bool
) async throws {
    _ = try await eventually(hope, within: deadline, every: pace) { try await isSo() ? true : nil }
}

/// The first value that there is.
func eventually<Value>(
    _ hope: String, within deadline: Duration = .seconds(600), every pace: Duration = .milliseconds(20),
    _ find: () async throws -> Value?
) async throws -> Value {
    let end = ContinuousClock.now + deadline
    while ContinuousClock.now < end {
        if let found = try await find() { return found }
        try await Task.sleep(for: pace)
    }
    throw Overdue(hope: hope, deadline: deadline)
}

struct Overdue: Error, CustomStringConvertible {
    let hope: String
    let deadline: Duration

    var description: String { "\(hope): not within \(deadline)" }
}
