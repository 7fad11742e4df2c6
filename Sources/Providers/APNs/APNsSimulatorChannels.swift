import FoundationEssentials
import Synchronization

/// Apple's management of broadcast channels. Source: Apple, "Sending channel management requests to APNs".
///
/// Apple does not publish the order of its checks. Here: request id, path and method, sender, app, then the parameters.
package final class APNsChannelsService: SimulatedService {
    package static let habits = HTTPHabits(speaksHTTP2: true, speaksHTTP1: false)

    package let channels: ChannelRegistry
    private let topics: Set<String>?
    private let tokens: ProviderTokenCheck

    package init(_ configuration: APNsChannelsConfiguration) {
        channels = configuration.channels
        topics = configuration.topics
        tokens = ProviderTokenCheck(
            keys: configuration.keys.map { keys in Dictionary(keys.map { ($0.keyID, $0) }) { _, last in last } })
    }

    package func answer(for reason: String) -> ServiceAnswer? {
        APNsReason(rawValue: reason).map { Self.refuse($0) }
    }

    package func reply(to request: ServiceRequest, context: inout ServiceContext) -> ServiceReply {
        var answer: ServiceAnswer
        do throws(Complaint) {
            answer = try serve(request, at: context.seconds)
        } catch {
            answer = Self.refuse(error.reason)
        }
        let id = request.field("apns-request-id") ?? UUID().uuidString.lowercased()
        answer.fields.append(("apns-request-id", id))
        return .aside(answer)
    }

    private struct Complaint: Error { let reason: APNsReason }

    private static func refuse(_ reason: APNsReason) -> ServiceAnswer {
        .json(reason.status, #"{"reason":"\#(reason.rawValue)"}"#, reason: reason.rawValue)
    }

    private func serve(_ request: ServiceRequest, at now: Int64) throws(Complaint) -> ServiceAnswer {
        if let id = request.field("apns-request-id"), UUID(uuidString: id) == nil {
            throw Complaint(reason: .badMessageID)
        }
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "1", parts[2] == "apps",
            ["channels", "all-channels"].contains(parts[4])
        else { throw Complaint(reason: .badPath) }
        try authenticate(request, at: now)
        let bundle = parts[3]
        guard TopicSuffix(of: bundle) == .none else { throw Complaint(reason: .topicDisallowed) }
        guard topics?.contains(bundle) ?? true else { throw Complaint(reason: .topicMismatch) }
        switch (request.method, parts[4]) {
        case ("POST", "channels"): return try create(request, bundle)
        case ("GET", "channels"): return try show(request, bundle)
        case ("DELETE", "channels"): return try delete(request, bundle)
        case ("GET", "all-channels"):
            return .json(200, #"{"channels":[\#(channels.all(of: bundle).map(\.quoted).joined(separator: ","))]}"#)
        default: throw Complaint(reason: .methodNotAllowed)
        }
    }

    private func authenticate(_ request: ServiceRequest, at now: Int64) throws(Complaint) {
        guard let jwt = request.bearer else { throw Complaint(reason: .missingProviderToken) }
        let finding = Array(jwt.utf8).withUnsafeBytes { tokens.finding(for: $0) }
        guard let token = finding else { throw Complaint(reason: .invalidProviderToken) }
        if let reason = ConnectionCredentials.complaintAboutAge(issuedAt: token.issuedAt, at: now) {
            throw Complaint(reason: reason)
        }
    }

    private func create(_ request: ServiceRequest, _ bundle: String) throws(Complaint) -> ServiceAnswer {
        guard !request.body.isEmpty else { throw Complaint(reason: .payloadEmpty) }
        guard let body = JSON(request.body), let members = body.members,
            members.allSatisfy({ ["message-storage-policy", "push-type"].contains($0.key) })
        else { throw Complaint(reason: .badRequestPayload) }
        guard let type = body["push-type"] else { throw Complaint(reason: .missingPushType) }
        guard type.string == "LiveActivity" else { throw Complaint(reason: .invalidPushType) }
        guard let policy = body["message-storage-policy"]?.integer, 0...1 ~= policy else {
            throw Complaint(reason: .badRequestParams)
        }
        guard let id = channels.create(storing: Int(policy), of: bundle) else {
            throw Complaint(reason: .cannotCreateChannelConfig)
        }
        return ServiceAnswer(201, fields: [("apns-channel-id", id)])
    }

    private func show(_ request: ServiceRequest, _ bundle: String) throws(Complaint) -> ServiceAnswer {
        let (_, policy) = try found(request, bundle)
        return .json(200, #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#)
    }

    private func delete(_ request: ServiceRequest, _ bundle: String) throws(Complaint) -> ServiceAnswer {
        let (id, _) = try found(request, bundle)
        guard channels.delete(id, of: bundle) else { throw Complaint(reason: .channelNotRegistered) }
        return ServiceAnswer(204)
    }

    private func found(
        _ request: ServiceRequest, _ bundle: String
    ) throws(Complaint) -> (id: String, policy: Int) {
        guard let id = request.field("apns-channel-id") else { throw Complaint(reason: .missingChannelID) }
        guard ChannelRegistry.isID(id) else { throw Complaint(reason: .badChannelID) }
        guard let policy = channels.policy(of: id, in: bundle) else { throw Complaint(reason: .channelNotRegistered) }
        return (id, policy)
    }
}

/// Apple's management of broadcast channels on this machine. `APNsSimulator` takes the broadcasts themselves, when both
/// use the same `ChannelRegistry`.
package typealias APNsChannelsSimulator = ServiceSimulator<APNsChannelsService>

/// How the simulated channel management listens and which senders it accepts.
package struct APNsChannelsConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// The keys to verify provider tokens with; nil accepts any well-formed one.
    package var keys: [APNsSigningKey]?
    /// Bundle ids that may have channels; nil allows any.
    package var topics: Set<String>?
    package var channels = ChannelRegistry()

    package init() {}
}

/// The existing broadcast channels, for callers that manage them and callers that send to them.
package final class ChannelRegistry: Sendable {
    /// Source: Apple, "Sending channel management requests to APNs".
    package static let channelsOfAppMax = 10_000

    private let channels = Mutex<[String: [String: Int]]>([:])
    private let ofAppMax: Int

    /// - Parameter ofAppMax: the limit on the channels of one app.
    package init(ofAppMax: Int = channelsOfAppMax) { self.ofAppMax = ofAppMax }

    /// A new channel's id: Base64 of 16 bytes. nil when the app has reached its limit.
    package func create(storing policy: Int, of bundle: String) -> String? {
        channels.withLock { channels in
            guard channels[bundle, default: [:]].count < ofAppMax else { return nil }
            let id = Data((0..<16).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
            channels[bundle, default: [:]][id] = policy
            return id
        }
    }

    /// The storage policy of a channel: 0 for none, 1 for the latest message; nil when there is no such channel.
    package func policy(of id: String, in bundle: String) -> Int? { channels.withLock { $0[bundle]?[id] } }

    /// Whether there was such a channel.
    package func delete(_ id: String, of bundle: String) -> Bool {
        channels.withLock { $0[bundle]?.removeValue(forKey: id) != nil }
    }

    package func all(of bundle: String) -> [String] {
        channels.withLock { $0[bundle, default: [:]].keys.sorted() }
    }

    /// Whether it has the form of an id.
    static func isID(_ text: String) -> Bool { Data(base64Encoded: text).map { !$0.isEmpty } ?? false }
}
