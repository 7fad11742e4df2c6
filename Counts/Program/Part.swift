import Callgrind

/// Counts what `body` does under a name.
///
/// - Parameter count: how often `body` does it; the figure is told of one.
func part<Value>(_ name: String, of count: Int, _ body: () async throws -> Value) async rethrows -> Value {
    callgrind_begin_part()
    let value = try await body()
    callgrind_end_part("\(name): \(count)")
    return value
}

func part(_ name: String, of count: Int, _ body: () throws -> Void) rethrows {
    callgrind_begin_part()
    try body()
    callgrind_end_part("\(name): \(count)")
}
