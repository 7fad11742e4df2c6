import Foundation
import MessageEncryption

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The requests of a device, in the words of the PCF Push API.
struct Client: Sendable {
    let configuration: BelfryConfiguration
    let transport: any Transport

    struct Answer: Sendable {
        let body: [String: JSON]
        /// Milliseconds since 1970 by the server's clock; nil where it does not say.
        let serverTime: Int64?
    }

    /// Registers a new device, or finds the one of the token.
    func create(_ wish: Registration) async throws(BelfryError) -> String {
        try Self.device(in: try await send("POST", "v1/registration", body(of: wish)))
    }

    func update(_ device: String, _ wish: Registration) async throws(BelfryError) -> String {
        try Self.device(in: try await send("PUT", "v1/registration/\(device)", body(of: wish)))
    }

    func delete(_ device: String) async throws(BelfryError) {
        _ = try await send("DELETE", "v1/registration/\(device)", nil)
    }

    /// The server's time, without credentials.
    func serverTime() async throws(BelfryError) -> Int64? { try await send("GET", "v1/version", nil).serverTime }

    func report(_ events: [StoredEvent]) async throws(BelfryError) {
        _ = try await send("POST", "v1/analytics", ["events": .array(events.map(\.json))])
    }

    /// Belfry's own: PCF has no such request.
    func messages(of device: String, limit: Int) async throws(BelfryError) -> [String: JSON] {
        try await send("GET", "v1/registration/\(device)/messages?limit=\(limit)", nil).body
    }

    /// Belfry's own, as `messages`.
    func makeEndpoint(of device: String, vapidPublicKey: String?) async throws(BelfryError) -> [String: JSON] {
        let body = vapidPublicKey.map { ["vapid_public_key": JSON.string($0)] } ?? [:]
        return try await send("POST", "v1/registration/\(device)/endpoints", body).body
    }

    func endEndpoint(_ id: String, of device: String) async throws(BelfryError) {
        _ = try await send("DELETE", "v1/registration/\(device)/endpoints/\(id)", nil)
    }

    func geofences(since stamp: Int64, device: String?) async throws(BelfryError) -> [String: JSON] {
        let named = device.map { "&device_uuid=\($0)" } ?? ""
        return try await send("GET", "v1/geofences?timestamp=\(stamp)&platform=ios\(named)", nil).body
    }

    private func body(of wish: Registration) async throws(BelfryError) -> [String: JSON] {
        var members: [String: JSON] = [
            "registration_token": .string(wish.token), "os": .string(wish.system),
            "tags": .array(wish.topics.sorted().map(JSON.string)),
            "custom_user_id": .string(try await signed(wish.user)), "device_alias": .string(wish.alias ?? ""),
        ]
        members["os_version"] = wish.systemVersion.map(JSON.string)
        members["device_model"] = wish.model.map(JSON.string)
        members["language"] = wish.language.map(JSON.string)
        members["time_zone"] = wish.timeZone.map(JSON.string)
        members["app_version"] = wish.appVersion.map(JSON.string)
        members["country"] = wish.country.map(JSON.string)
        members["encryption_keys"] = wish.encryptionKeys.map { keys in
            .object(["p256dh": .string(keys.p256dh), "auth": .string(keys.auth)])
        }
        if !wish.attributes.isEmpty { members["attributes"] = .object(wish.attributes.mapValues(JSON.string)) }
        return members
    }

    /// An empty text clears the id.
    private func signed(_ user: String?) async throws(BelfryError) -> String {
        guard let user, !user.isEmpty else { return "" }
        guard let signer = configuration.signer else { return user }
        do {
            return try await signer(user)
        } catch {
            throw .unsigned("\(error)")
        }
    }

    private static func device(in answer: Answer) throws(BelfryError) -> String {
        guard case .string(let device)? = answer.body["device_uuid"] else { throw .unreadable("no device_uuid") }
        return device
    }

    private func send(
        _ method: String, _ path: String, _ body: [String: JSON]?
    ) async throws(BelfryError) -> Answer {
        let (data, response) = try await exchange(try request(method, path, body))
        let answer = (try? JSONDecoder().decode(JSON.self, from: data)) ?? .null
        switch response.statusCode {
        case 204: return Answer(body: [:], serverTime: HTTPDate.milliseconds(response.field("Date")))
        case 200..<300:
            // A proxy's page is no answer.
            guard case .object(let members) = answer else { throw .unreadable("no JSON object") }
            return Answer(body: members, serverTime: HTTPDate.milliseconds(response.field("Date")))
        case 401: throw .unauthorized
        case 408, 429, 500...: throw .busy(retryAfter: response.field("Retry-After").flatMap { Int($0) })
        default:
            // Without a reason it is not the server that speaks, but something before it.
            guard let reason = answer["message"]?.text else { throw .unreadable("\(response.statusCode) without JSON") }
            throw .refused(status: response.statusCode, reason: reason)
        }
    }

    private func exchange(_ request: URLRequest) async throws(BelfryError) -> (Data, HTTPURLResponse) {
        do {
            return try await transport.send(request)
        } catch {
            throw .unreachable("\(error)")
        }
    }

    private func request(
        _ method: String, _ path: String, _ body: [String: JSON]?
    ) throws(BelfryError) -> URLRequest {
        // Behind a path of the server's: a relative URL would replace its last part.
        let server = configuration.server.absoluteString
        guard let url = URL(string: server + (server.hasSuffix("/") ? "" : "/") + path) else {
            throw .unreadable("\(path) is no URL")
        }
        var request = URLRequest(url: url, timeoutInterval: 30)
        request.httpMethod = method
        let credentials = Data("\(configuration.platform.uuidString.lowercased()):\(configuration.platformSecret)".utf8)
        request.setValue("Basic \(credentials.base64EncodedString())", forHTTPHeaderField: "Authorization")
        guard let body else { return request }
        do {
            request.httpBody = try JSONEncoder().encode(JSON.object(body))
        } catch {
            throw .unreadable("\(error)")
        }
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        return request
    }
}

extension HTTPURLResponse {
    func field(_ name: String) -> String? { value(forHTTPHeaderField: name) }
}

extension StoredEvent {
    /// Every value is a string, as the SDKs of PCF write them.
    var json: JSON {
        var members: [String: JSON] = ["eventType": .string(wireType), "eventTime": .string(String(time))]
        members["deviceUuid"] = device.map(JSON.string)
        members["receiptId"] = receiptID.map(JSON.string)
        members["geofenceId"] = geofence.map { .string(String($0)) }
        members["locationId"] = location.map { .string(String($0)) }
        return .object(members)
    }
}

/// Source: RFC 9110 §5.6.7.
enum HTTPDate {
    static func milliseconds(_ text: String?) -> Int64? {
        guard let text else { return nil }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return formatter.date(from: text).map { Int64($0.timeIntervalSince1970 * 1_000) }
    }
}
