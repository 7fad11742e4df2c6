/// What a back end asks for: content, target and times. It becomes a push at once, or by a schedule.
///
/// Platforms and devices are looked up when it becomes a push, so a scheduled one reaches who is there by then.
package struct PushRequest: Sendable, Hashable {
    package let content: Push.Content
    package let target: Target
    /// nil leaves it to whom the push is meant for.
    package let lane: Lane?
    package let guarantee: Push.Guarantee
    /// From then on no device is told any more; nil leaves it to the provider.
    package let expiresAt: Instant?

    package init(
        content: Push.Content, target: Target, lane: Lane? = nil, guarantee: Push.Guarantee = .atLeastOnce,
        expiresAt: Instant? = nil
    ) {
        self.content = content
        self.target = target
        self.lane = lane
        self.guarantee = guarantee
        self.expiresAt = expiresAt
    }
}
