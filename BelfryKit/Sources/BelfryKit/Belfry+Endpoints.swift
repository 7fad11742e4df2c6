public import Foundation

/// A URL to which an application server that speaks Web Push, such as Mastodon, posts what only this app can read.
///
/// The app gives it to the server together with its public key and auth secret (RFC 8291). A message arrives as a push with the ciphertext
/// in `webpush`, in Base64 for URLs, and the endpoint's ``id`` in `webpush_endpoint`: the notification service extension decrypts it.
public struct WebPushEndpoint: Sendable, Hashable {
    public let id: String
    /// Whoever knows it can push to this device. The server tells it once.
    public let url: URL
}

extension Belfry {
    /// Asks the server for an endpoint of this device; one for each account of the app.
    ///
    /// - Parameter vapidPublicKey: binds it to the one application server that has this key, 65 bytes in Base64 for URLs.
    /// - Throws: ``BelfryError/unregistered`` before the server knows this device.
    public func makeEndpoint(vapidPublicKey: String? = nil) async throws(BelfryError) -> WebPushEndpoint {
        guard let device = state.device else { throw .unregistered }
        let answer = try await client.makeEndpoint(of: device, vapidPublicKey: vapidPublicKey)
        guard let id = answer["endpoint_id"]?.integer, let url = answer["endpoint"]?.text.flatMap({ URL(string: $0) })
        else { throw .unreadable("no endpoint") }
        return WebPushEndpoint(id: String(id), url: url)
    }

    /// Ends an endpoint: application servers are told that it is gone.
    public func endEndpoint(_ id: String) async throws(BelfryError) {
        guard let device = state.device else { throw .unregistered }
        try await client.endEndpoint(id, of: device)
    }
}
