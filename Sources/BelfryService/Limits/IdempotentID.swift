package import FoundationEssentials

/// The id of the one thing that a request creates.
///
/// A request that is repeated with its `Idempotency-Key` gets the id that it had the first time, so that the thing is
/// found and not created again. See `IdempotencyTests`, "a push accepted before a crash is not sent twice".
package enum IdempotentID {
    @TaskLocal package static var given: UUID?

    package static func make() -> UUID { given ?? .timeOrdered() }
}
