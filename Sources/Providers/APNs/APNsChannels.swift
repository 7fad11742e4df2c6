import FoundationEssentials
public import HTTP2Client
public import Logging
public import NIOCore

/// Creates, reads, lists and deletes the broadcast channels of one app.
///
/// APNs stores them, separately for production and sandbox, up to 10,000 for an app in each.
/// Source: Apple, "Sending channel management requests to APNs".
public final class APNsChannels: Sendable {
    private let pool: HTTP2Pool
    private let bundleID: String

    /// - Parameters:
    ///   - bundleID: the app's, without a suffix.
    ///   - endpoint: ``APNsEndpoint/channels`` or ``APNsEndpoint/sandboxChannels``.
    /// - Throws: when the certificate, its key or the trust roots cannot be used by TLS, or the bundle id is none.
    public init(
        of bundleID: String, credentials: APNsCredentials, endpoint: APNsEndpoint,
        configuration: APNsClient.Configuration = APNsClient.Configuration(), eventLoopGroup: any EventLoopGroup,
        logger: Logger
    ) throws {
        guard APNsBroadcast.isBundleID(bundleID) else { throw APNsMessageError.topic(bundleID) }
        self.bundleID = bundleID
        var prescribed = configuration.prescribed(for: credentials)
        prescribed.connection.keptHeaders = APNsAnswer.keptHeaders + [Self.idHeader]
        prescribed.connection.bodyBytesMax = Self.listBytesMax
        pool = try HTTP2Pool(
            endpoint: endpoint.http2(presenting: credentials.certificate), configuration: prescribed,
            eventLoopGroup: eventLoopGroup, logger: logger)
    }

    /// Creates a channel. Its storage policy cannot be changed afterwards.
    public func create(
        _ storage: APNsChannel.Storage, deadline: Duration = .seconds(30)
    ) async throws(APNsChannelError) -> APNsChannel {
        let body = #"{"message-storage-policy":\#(storage.rawValue),"push-type":"LiveActivity"}"#
        let response = try await ask("POST", "channels", body: Array(body.utf8), deadline)
        guard let id = response[Self.idHeader].flatMap({ try? APNsChannelID($0) }) else {
            throw .unreadable("APNs answered \(response.status) without a channel id")
        }
        return APNsChannel(id: id, storage: storage)
    }

    public func channel(
        _ id: APNsChannelID, deadline: Duration = .seconds(30)
    ) async throws(APNsChannelError) -> APNsChannel {
        let response = try await ask("GET", "channels", id, deadline)
        return APNsChannel(id: id, storage: try APNsChannelAnswer.storage(response.body))
    }

    /// Deletes a channel. Its subscribers get nothing more.
    public func delete(_ id: APNsChannelID, deadline: Duration = .seconds(30)) async throws(APNsChannelError) {
        _ = try await ask("DELETE", "channels", id, deadline)
    }

    /// All channels of the app.
    public func all(deadline: Duration = .seconds(30)) async throws(APNsChannelError) -> [APNsChannelID] {
        try APNsChannelAnswer.ids(try await ask("GET", "all-channels", nil, deadline).body)
    }

    /// Takes no more requests, waits for the answers that are due, and closes all connections within `deadline`.
    public func shutdown(within deadline: Duration) async { await pool.shutdown(within: deadline) }

    private static let idHeader = "apns-channel-id"
    /// 10,000 ids of 24 characters, with quotes and commas, and twice that.
    private static let listBytesMax = 1_048_576

    private func ask(
        _ method: String, _ resource: String, _ id: APNsChannelID? = nil, body: [UInt8] = [], _ deadline: Duration
    ) async throws(APNsChannelError) -> HTTP2Response {
        var batch = HTTP2Batch(method: method, varying: [Self.idHeader], body: .shared(body))
        batch.append(path: "/1/apps/\(bundleID)/\(resource)", values: [id?.text ?? ""])
        let lapsesAt = ContinuousClock.now + deadline
        do throws(APNsChannelError) {
            return try await attempt(batch, deadline)
        } catch .rejected(let rejection) where rejection.reason == .expiredProviderToken {
            // The verdict on the connection has replaced the token and retired the connections that used the old one.
            return try await attempt(batch, lapsesAt - .now)
        }
    }

    private func attempt(_ batch: HTTP2Batch, _ deadline: Duration) async throws(APNsChannelError) -> HTTP2Response {
        guard let answer = await pool.send(batch, deadline: deadline).first else { throw .unreadable("no answer") }
        if case .response(let response) = answer, 200..<300 ~= response.status { return response }
        switch APNsAnswer(answer) {
        case .accepted: throw .unreadable("APNs answered 200 and nothing else")
        case .rejected(let rejection): throw .rejected(rejection)
        case .unprocessed(let fault): throw .unprocessed(fault)
        case .unknown(let fault): throw .unknown(fault)
        case .credentialsRefused(let fault): throw .credentialsRefused(fault)
        }
    }
}

/// A broadcast channel as APNs stores it.
public struct APNsChannel: Sendable, Hashable {
    public let id: APNsChannelID
    public let storage: Storage

    /// The messages that a channel stores for devices that cannot be reached. Source: Apple, `message-storage-policy`.
    public enum Storage: Int, Sendable, Hashable, CaseIterable {
        case nothing = 0
        /// The latest message, for eight hours at most.
        case latest = 1
    }

    public init(id: APNsChannelID, storage: Storage) {
        self.id = id
        self.storage = storage
    }
}

public enum APNsChannelError: Error, Sendable, CustomStringConvertible {
    /// APNs answered, and refused.
    case rejected(APNsRejection)
    /// APNs certainly did not process it.
    case unprocessed(HTTP2Fault)
    /// It was written and no answer came: it may have been done.
    case unknown(HTTP2Fault)
    case credentialsRefused(HTTP2Fault)
    /// An answer that is not what Apple describes.
    case unreadable(String)

    public var description: String {
        switch self {
        case .rejected(let rejection): "APNs answered \(rejection.status) \(rejection.reason)"
        case .unprocessed(let fault): "APNs could not be asked: \(fault)"
        case .unknown(let fault): "APNs did not answer: \(fault)"
        case .credentialsRefused(let fault): "TLS with APNs failed: \(fault)"
        case .unreadable(let words): words
        }
    }
}

/// One update or end of a Live Activity, and its channels. APNs delivers it to every subscribed device.
///
/// Source: Apple, "Sending broadcast push notification requests to APNs".
public struct APNsBroadcast: Sendable, Hashable {
    public let bundleID: String
    public let priority: APNsPriority
    /// Unix seconds until which APNs stores it; 0, which a channel that stores nothing requires, makes one attempt.
    public let expiration: Int64
    public let payload: [UInt8]
    public let channels: [APNsChannelID]

    public static let payloadBytesMax = 5_120

    /// - Parameters:
    ///   - bundleID: the app's, without a suffix.
    ///   - payload: JSON, sent as it is.
    public init(
        bundleID: String, priority: APNsPriority = .immediate, expiration: Int64 = 0, payload: [UInt8],
        channels: [APNsChannelID]
    ) throws(APNsMessageError) {
        guard Self.isBundleID(bundleID) else { throw .topic(bundleID) }
        guard APNsPushType.liveActivity.priorities.contains(priority) else {
            throw .priority(priority, for: .liveActivity)
        }
        guard expiration >= 0 else { throw .expiration(expiration) }
        guard !payload.isEmpty else { throw .payloadEmpty }
        guard payload.count <= Self.payloadBytesMax else {
            throw .payloadTooLarge(bytes: payload.count, limit: Self.payloadBytesMax)
        }
        self.bundleID = bundleID
        self.priority = priority
        self.expiration = expiration
        self.payload = payload
        self.channels = channels
    }

    /// It is put into a path unescaped.
    static func isBundleID(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
    }
}

/// APNs' id of a broadcast channel: Base64, in a header.
public struct APNsChannelID: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    /// Apple names no maximum. A longer text is not an id.
    public static let bytesMax = 255

    public var description: String { text }

    public init(_ text: String) throws(APNsMessageError) {
        guard 1...Self.bytesMax ~= text.utf8.count, text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw .channelID
        }
        self.text = text
    }
}

extension APNsBroadcast {
    /// A request for each of the channels at `indices`.
    func requests(_ indices: some Sequence<Int>) -> HTTP2Batch {
        var batch = HTTP2Batch(
            headers: [
                HTTP2Header("apns-push-type", APNsPushType.liveActivity.rawValue),
                HTTP2Header("apns-priority", "\(priority.rawValue)"),
                HTTP2Header("apns-expiration", "\(expiration)", indexing: .never),
            ], varying: ["apns-channel-id"], body: .shared(payload))
        for index in indices {
            batch.append(path: "/4/broadcasts/apps/\(bundleID)", values: [channels[index].text])
        }
        return batch
    }
}

/// The response bodies of APNs' channel management.
package enum APNsChannelAnswer {
    /// Reads the response about one channel.
    package static func storage(_ body: ArraySlice<UInt8>) throws(APNsChannelError) -> APNsChannel.Storage {
        let channel: Channel = try read(body)
        guard let storage = APNsChannel.Storage(rawValue: channel.storage) else {
            throw .unreadable("APNs answered with message-storage-policy \(channel.storage)")
        }
        return storage
    }

    /// Reads the ids of all channels of an app, without malformed ones.
    package static func ids(_ body: ArraySlice<UInt8>) throws(APNsChannelError) -> [APNsChannelID] {
        let list: List = try read(body)
        return list.channels.compactMap { try? APNsChannelID($0) }
    }

    private static func read<Body: Decodable>(_ body: ArraySlice<UInt8>) throws(APNsChannelError) -> Body {
        do {
            return try JSONDecoder().decode(Body.self, from: Data(body))
        } catch {
            throw .unreadable("the body of the answer is not what Apple describes")
        }
    }

    private struct Channel: Decodable {
        let storage: Int

        enum CodingKeys: String, CodingKey { case storage = "message-storage-policy" }
    }

    private struct List: Decodable { let channels: [String] }
}
