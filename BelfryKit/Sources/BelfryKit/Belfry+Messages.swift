public import Foundation

/// A push as the server sent it to this device.
public struct ServerMessage: Sendable, Hashable {
    public let receiptID: String
    /// Milliseconds since 1970, by the server's clock.
    public let acceptedAt: Int64
    /// nil for one that does not expire.
    public let expiresAt: Int64?
    public let title: String?
    public let body: String?
    /// The payload for the app, as JSON: on Apple's devices the whole payload.
    public let payload: Data
}

extension Belfry {
    /// The most messages that the server returns.
    public static let serverMessagesMax = 20

    /// Asks the server for the latest pushes to this device, newest first, without those that have expired. An app asks so when a push came
    /// without its payload, or may not have come at all.
    ///
    /// - Throws: ``BelfryError/unregistered`` before the server knows this device.
    public func fetchMessages(limit: Int = serverMessagesMax) async throws(BelfryError) -> [ServerMessage] {
        guard let device = state.device else { throw .unregistered }
        let answer = try await client.messages(of: device, limit: min(max(limit, 1), Self.serverMessagesMax))
        return (answer["messages"]?.elements ?? []).compactMap(ServerMessage.init)
    }
}

extension ServerMessage {
    init?(_ json: JSON) {
        guard let receiptID = json["receipt_id"]?.text, let acceptedAt = json["accepted_at"]?.integer,
            let payload = json["payload"], let data = try? JSONEncoder().encode(payload)
        else { return nil }
        self.receiptID = receiptID
        self.acceptedAt = acceptedAt
        expiresAt = json["expires_at"]?.integer
        self.payload = data
        let alert = payload["aps"]?["alert"]
        title = alert?["title"]?.text ?? payload["title"]?.text
        body = alert?["body"]?.text ?? alert?.text ?? payload["message"]?.text ?? payload["body"]?.text
    }
}
