public import AsyncHTTPClient
public import HTTPExchange

/// Sends messages over `gcm/send`, for gateways that still speak it: GCM and FCM's legacy HTTP protocol.
///
/// Google shut its own down in 2024. A request goes to 1,000 devices, and its answer has a result for each.
public final class GCMClient: Sendable {
    private let poster: HTTPPoster
    private let url: String
    private let key: String

    /// Source: Firebase, "Firebase Cloud Messaging HTTP protocol" (legacy).
    public static let devicesMax = 1_000
    public static let standardURL = "https://fcm.googleapis.com/fcm/send"

    /// - Parameters:
    ///   - key: the server key.
    ///   - trustRoots: certificates in PEM to trust instead of the system's, for simulators.
    ///   - http: must follow no redirects, and is shut down by whoever made it.
    public init(
        key: String, url: String = GCMClient.standardURL, trustRoots: [UInt8]? = nil, http: HTTPClient
    ) throws(HTTPFault) {
        guard !key.isEmpty, key.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw HTTPFault("the server key is empty or holds other than visible ASCII")
        }
        self.key = key
        self.url = url
        // A result may name a message and a new token, 300 bytes at the most.
        poster = try HTTPPoster(client: http, trustRoots: trustRoots, bodyBytesMax: 1_048_576)
    }

    /// Sends to all devices, 1,000 at a time, and returns their answers in order. Never throws, and returns by its
    /// deadline, which is for all of it. What is left then is `unprocessed`.
    public func send(
        _ message: GCMMessage, to tokens: [[UInt8]], deadline: Duration = .seconds(30)
    ) async -> [GCMAnswer] {
        let lapsesAt = ContinuousClock.now + deadline
        var answers: [GCMAnswer] = []
        answers.reserveCapacity(tokens.count)
        while answers.count < tokens.count {
            let part = tokens[answers.count..<min(answers.count + Self.devicesMax, tokens.count)]
            let left = lapsesAt - .now
            guard left > .zero, !Task.isCancelled else {
                let late = HTTPAnswer.unprocessed(HTTPFault("the deadline passed before it was sent"))
                answers += GCMAnswer.answers(late, count: part.count)
                continue
            }
            let answer = await poster.post(
                url, headers: [("authorization", "key=\(key)"), ("content-type", "application/json")],
                body: Self.body(message, part), deadline: left)
            answers += GCMAnswer.answers(answer, count: part.count)
        }
        return answers
    }

    static func body(_ message: GCMMessage, _ tokens: ArraySlice<[UInt8]>) -> [UInt8] {
        Array(#"{"registration_ids":"#.utf8) + JSONText.array(tokens) + (message.members.isEmpty ? [] : Array(",".utf8))
            + message.members + Array("}".utf8)
    }
}
