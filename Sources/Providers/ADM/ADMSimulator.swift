import Crypto
import FoundationEssentials
import Synchronization

/// Amazon's side: a token endpoint, and one message for one device.
package final class ADMService: SimulatedService {
    private let configuration: ADMConfiguration
    package let accessTokens = AccessTokens(prefix: "Atc|MQ")
    private let quota: Quota?
    private let requests = Atomic<Int>(0)

    package init(_ configuration: ADMConfiguration) {
        self.configuration = configuration
        self.quota = configuration.messagesPerSecond.map { Quota($0, per: .seconds(1)) }
    }

    /// Not an error: the device is notified, and its registration id is the `body` of the script.
    private static let replaced = "Replaced"

    private static let statuses = [
        "Unregistered": 400, "InvalidRegistrationId": 400, "InvalidData": 400, "InvalidConsolidationKey": 400,
        "InvalidExpiration": 400, "InvalidChecksum": 400, "InvalidType": 400, "AccessTokenExpired": 401,
        "MessageTooLarge": 413, "MaxRateExceeded": 429, "InternalServerError": 500, "ServiceUnavailable": 503,
        "NotFound": 404,
    ]

    package func answer(for reason: String) -> ServiceAnswer? {
        if reason == Self.replaced { return ServiceAnswer(200) }
        return Self.statuses[reason].map { .json($0, #"{"reason":"\#(reason)"}"#, reason: reason) }
    }

    package func reply(to request: ServiceRequest, context: inout ServiceContext) -> ServiceReply {
        if request.path == "/auth/O2/token" { return .aside(grant(request, at: context.now)) }
        let parts = request.segments
        guard request.method == "POST", parts.count == 4, parts[0] == "messaging", parts[1] == "registrations",
            parts[3] == "messages"
        else { return refuse("NotFound") }
        var reply = send(request, to: parts[2], &context)
        reply.answer.fields.append(("x-amzn-requestid", "sim-\(requests.add(1, ordering: .relaxed).newValue)"))
        return reply
    }

    private func send(_ request: ServiceRequest, to id: String, _ context: inout ServiceContext) -> ServiceReply {
        guard let token = request.bearer, case .good = accessTokens.find(token, at: context.now) else {
            return refuse("AccessTokenExpired", id)
        }
        guard request.mediaType == "application/json",
            request.field("x-amzn-type-version") == "com.amazon.device.messaging.ADMMessage@1.0",
            request.field("x-amzn-accept-type") == "com.amazon.device.messaging.ADMSendResult@1.0"
        else { return refuse("InvalidType", id) }
        guard let message = ADMMessage(request.body) else { return refuse("InvalidData", id) }
        if let complaint = message.complaint { return refuse(complaint, id) }
        let scripted = context.scripted(for: id)
        if let scripted, scripted.reason != Self.replaced { return ServiceReply(scripted.answer(by: self), token: id) }
        if let wait = quota?.take("", at: context.now) {
            var reply = refuse("MaxRateExceeded", id)
            reply.answer.fields.append(("retry-after", "\(wait.secondsUp)"))
            return reply
        }
        let payload = context.keepsPayloads ? String(decoding: request.body, as: UTF8.self) : ""
        let newID = scripted?.body ?? id
        return ServiceReply(.json(200, #"{"registrationID":\#(newID.quoted)}"#), token: id, payload: payload)
    }

    private func grant(_ request: ServiceRequest, at now: Duration) -> ServiceAnswer {
        var credentials = configuration.credentials
        credentials.scope = "messaging:push"
        if let error = credentials.complaint(about: request) { return ClientCredentials.refuse(error) }
        let life = configuration.accessTokenLife
        let token = accessTokens.issue(to: credentials.clientID, for: life, at: now)
        return .json(
            200,
            #"{"access_token":"\#(token)","expires_in":\#(life.components.seconds),"scope":"messaging:push","#
                + #""token_type":"Bearer"}"#)
    }
}

/// Amazon Device Messaging on this machine: the token endpoint at `/auth/O2/token`, devices at
/// `/messaging/registrations/{id}/messages`.
package typealias ADMSimulator = ServiceSimulator<ADMService>

extension ServiceSimulator where S == ADMService {
    package var tokenURL: String { "\(url)/auth/O2/token" }

    /// The address of a device's messages.
    package func sendURL(_ registrationID: String) -> String {
        "\(url)/messaging/registrations/\(registrationID)/messages"
    }
}

/// How a simulated ADM listens and which senders it accepts.
package struct ADMConfiguration: ServiceConfiguration {
    package var listening = Listening()
    package var credentials = ClientCredentials(
        clientID: "amzn1.application-oa2-client.belfry", clientSecret: "amzn1.oa2-cs.v1.secret")
    package var accessTokenLife = Duration.seconds(3600)
    /// Messages of the app in a second; nil for no limit.
    package var messagesPerSecond: Int?

    package init() {}
}

/// A message for one device, validated by Amazon's rules. Source: developer.amazon.com, "ADM: send a message".
struct ADMMessage {
    static let dataBytesMax = 6 * 1024
    static let consolidationKeyMax = 64
    static let expiresAfter: ClosedRange<Int64> = 60...2_678_400

    private let json: JSON

    init?(_ bytes: [UInt8]) {
        guard let json = JSON(bytes), json.members != nil else { return nil }
        self.json = json
    }

    var complaint: String? {
        if json["data"] == nil, json["notification"] == nil { return "InvalidData" }
        if let data = json["data"], JSONShape.texts.complaint(about: data) != nil { return "InvalidData" }
        if dataBytes > Self.dataBytesMax { return "MessageTooLarge" }
        if let key = json["consolidationKey"], !(0...Self.consolidationKeyMax).contains(key.string?.count ?? -1) {
            return "InvalidConsolidationKey"
        }
        if let life = json["expiresAfter"], !Self.expiresAfter.contains(life.integer ?? 0) {
            return "InvalidExpiration"
        }
        if let md5 = json["md5"], md5.string != checksum { return "InvalidChecksum" }
        return nil
    }

    private var pairs: [(key: String, value: String)] {
        (json["data"]?.members ?? []).map { ($0.key, $0.value.string ?? "") }
    }

    private var dataBytes: Int { pairs.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } }

    /// Base64 of the MD5 of `key:value` pairs, sorted by key and separated by commas.
    private var checksum: String {
        let text = pairs.sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }
            .map { "\($0.key):\($0.value)" }.joined(separator: ",")
        return Data(Insecure.MD5.hash(data: Array(text.utf8))).base64EncodedString()
    }
}
