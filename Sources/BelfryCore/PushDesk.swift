package import FoundationEssentials

/// Turns orders into pushes, for every door alike: finds the platforms and the audience, and sees that each can take it.
package struct PushDesk: Sendable {
    private let store: any ApplicationStore & DeviceStore & PushStore

    package init(store: any ApplicationStore & DeviceStore & PushStore) { self.store = store }

    /// Accepts the push; it is durable when this returns. Throws `InvalidInput` when a platform that is meant cannot
    /// take the content.
    package func send(_ order: Order, for application: Key<Application>) async throws -> Push {
        try await store.accept(try await draft(order, for: application))
    }

    /// The push that the order makes at present.
    package func draft(_ order: Order, for application: Key<Application>) async throws -> NewPush {
        let platforms = order.target.platforms(of: try await store.platforms(of: application))
        let receiptID = UUID()
        try order.content.check(for: Set(platforms.map(\.kind)), receiptID: receiptID)
        let keys = platforms.map(\.key)
        let named = try await store.deviceKeys(order.target.devices ?? [], on: keys)
        let audience = order.target.audience(named: named)
        return NewPush(
            receiptID: receiptID, applicationKey: application, content: order.content, audience: audience,
            platformKeys: keys, lane: order.lane ?? Lane(for: audience), guarantee: order.guarantee,
            expiresAt: order.expiresAt)
    }
}
