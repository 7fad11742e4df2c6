package import FoundationEssentials

/// The id for the one thing that a request makes.
///
/// A request that is repeated under its `Idempotency-Key` gets the id that it had the first time, so that what was made
/// then is found and not made again. See `IdempotencyTests`, "a push that was accepted before a crash is not sent twice".
package enum IdempotentID {
    @TaskLocal package static var given: UUID?

    package static func make() -> UUID { given ?? UUID() }
}
