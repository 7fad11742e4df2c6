/// A back end's request: content, target and times. It becomes a push at once, or by a schedule.
///
/// Platforms and devices are looked up when it becomes a push, so a scheduled push reaches the devices that exist by
/// then.
package struct PushRequest: Sendable, Hashable {
    package let content: Push.Content
    package let target: Target
    /// nil lets the size of the target decide.
    package let lane: Lane?
    package let guarantee: Push.Guarantee
    /// See `PushHead.expiresAt`.
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

    /// Returns the request for other recipients.
    package func aimed(at target: Target) -> PushRequest {
        PushRequest(content: content, target: target, lane: lane, guarantee: guarantee, expiresAt: expiresAt)
    }
}
