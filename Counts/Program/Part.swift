import Callgrind

/// Counts what `body` does under a name.
///
/// - Parameters:
///   - name: nil counts nothing.
///   - count: how often `body` does it; the figure is told of one.
func part<Value>(_ name: String?, of count: Int, _ body: () async throws -> Value) async rethrows -> Value {
    guard let name else { return try await body() }
    callgrind_begin_part()
    let value = try await body()
    callgrind_end_part("\(name): \(count)")
    return value
}

func part(_ name: String?, of count: Int, _ body: () throws -> Void) rethrows {
    guard let name else { return try body() }
    callgrind_begin_part()
    try body()
    callgrind_end_part("\(name): \(count)")
}
