import BelfryService
import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryGateway

/// Requests of Apple's provider API over HTTP/2, right ones and faulty ones.
@Suite struct GatewayRequestTests {
    private static func platform(_ kind: PlatformKind = .ios) -> Platform {
        Platform(
            key: Key(1), uuid: UUID(), applicationKey: Key(1), kind: kind, mode: .production, name: "x", secretHash: [],
            credentials: Sealed(bytes: []), credentialsVersion: 1, parked: nil, createdAt: .zero)
    }

    private static func request(
        _ path: String = "/3/device/00AAff", method: String = "POST", headers: [String: String] = [:],
        body: String = #"{"aps":{"alert":"hi"},"x":1}"#
    ) -> GatewayRequest {
        var request = GatewayRequest(stream: 1)
        (request.method, request.path, request.headers, request.body) = (method, path, headers, Array(body.utf8))
        return request
    }

    @Test func `a request is taken as it came`() throws {
        let headers = [
            "expiration": "1700000000", "priority": "5", "collapse-id": "c", "push-type": "alert", "topic": "t",
        ]
        let taken = try Self.request(headers: headers).notification(for: Self.platform(), at: .zero)
        #expect(taken.token == DeviceToken(bytes: [0, 0xAA, 0xFF]))
        #expect(taken.expiresAt == Instant(milliseconds: 1_700_000_000_000))
        let apple = try #require(taken.content.apple)
        #expect(apple.type == .alert && apple.priority == .considerate && apple.collapseID == "c" && apple.isStored)
        #expect(apple.payload["x"] == .integer(1) && apple.isVerbatim)
        let now = try Self.request(headers: ["expiration": "0"]).notification(for: Self.platform(), at: .zero)
        #expect(now.expiresAt == nil && now.content.apple?.isStored == false)
        // A sender whose clock is slow is heard too.
        let over = try Self.request(headers: headers).notification(
            for: Self.platform(), at: Instant(milliseconds: 1_700_000_000_000))
        #expect(over.expiresAt == nil && over.content.apple?.isStored == false)
        let silent = Self.request(headers: ["priority": "10"], body: #"{"aps":{"content-available":1}}"#)
        let update = try silent.notification(for: Self.platform(), at: .zero).content.apple
        #expect(update?.type == .background && update?.priority == .considerate)
        let call = try Self.request(headers: ["push-type": "voip"]).notification(
            for: Self.platform(.apple(.voip)), at: .zero)
        #expect(call.content.apple?.type == .voip)
    }

    private static let refused: [(GatewayRequest, Int, String)] = [
        (request("/3/device/"), 400, "MissingDeviceToken"), (request("/3/device"), 400, "MissingDeviceToken"),
        (request("/3/device/0"), 400, "BadDeviceToken"), (request("/3/device/zz"), 400, "BadDeviceToken"),
        (request("/3/device/" + String(repeating: "00", count: 101)), 400, "BadDeviceToken"),
        (request("/3/device/00%2Fff"), 400, "BadDeviceToken"), (request("/3/device/00/ff"), 400, "BadDeviceToken"),
        (request("/3%2Fdevice/00"), 404, "BadPath"), (request("/3/device/%zz"), 400, "BadDeviceToken"),
        (request("/4/device/00"), 404, "BadPath"), (request("/"), 404, "BadPath"),
        (request(method: "GET"), 405, "MethodNotAllowed"), (request(headers: ["id": "1"]), 400, "BadMessageId"),
        (request(headers: ["priority": "7"]), 400, "BadPriority"),
        (request(headers: ["priority": "10", "push-type": "background"]), 400, "BadPriority"),
        (request(headers: ["expiration": "-1"]), 400, "BadExpirationDate"),
        (request(headers: ["expiration": "99999999999"]), 400, "BadExpirationDate"),
        (request(headers: ["push-type": "other"]), 400, "InvalidPushType"),
        (request(headers: ["push-type": "voip"]), 400, "InvalidPushType"),
        (request(headers: ["collapse-id": String(repeating: "c", count: 65)]), 400, "BadCollapseId"),
        (request(headers: ["collapse-id": "c "]), 400, "BadCollapseId"),
        (request(body: ""), 400, "PayloadEmpty"), (request(body: "[]"), 400, "PayloadEmpty"),
        (request(body: #"{"a":"\#(String(repeating: "x", count: 4_096))"}"#), 413, "PayloadTooLarge"),
    ]

    @Test(arguments: refused)
    func `a bad request is explained in APNs' words`(
        request: GatewayRequest, status: Int, reason: String
    ) {
        let response = #expect(throws: GatewayResponse.self) {
            try request.notification(for: Self.platform(), at: .zero)
        }
        #expect(response == GatewayResponse(status, reason))
    }

    @Test(arguments: ["/3/device/%30%30aAff", "/%33/%64evice/00aaff", "/3/device/00%41%61f%66"])
    func `a path may be percent-encoded`(path: String) throws {
        let taken = try Self.request(path).notification(for: Self.platform(), at: .zero)
        #expect(taken.token == DeviceToken(bytes: [0, 0xAA, 0xFF]))
    }

    @Test(arguments: [("gzip", "gzip"), ("GZip, br", "gzip, br"), ("de\"fl\r\nate", "deflate")])
    func `a compressed body is refused by its name`(coding: String, shown: String) {
        var request = Self.request(body: "\u{1F}")
        request.note(contentCoding: coding)
        let response = #expect(throws: GatewayResponse.self) {
            try request.notification(for: Self.platform(), at: .zero)
        }
        #expect(response?.status == 415 && response?.reason == "UnsupportedContentEncoding")
        #expect(response?.warning?.contains("(content-encoding: \(shown))") == true)
    }

    @Test(arguments: ["identity", "Identity", ""])
    func `a body that is said to be plain is taken`(coding: String) throws {
        var request = Self.request()
        request.note(contentCoding: coding)
        _ = try request.notification(for: Self.platform(), at: .zero)
    }

    @Test(arguments: [
        ("expiry", "expiration", true), ("expires", "expiration", true), ("expirations", "expiration", true),
        ("prioriyt", "priority", false), ("colapse-id", "collapse-id", false), ("pushtype", "push-type", false),
        ("topics", "topic", false),
    ])
    func `a misspelt header is reported, and refused for times`(name: String, meant: String, isTime: Bool) throws {
        var request = Self.request()
        let isNoted = request.note(unknown: name)
        #expect(isNoted)
        #expect(request.warning == #"299 - "apns-\#(name) is no header of APNs (is apns-\#(meant) meant?)""#)
        if isTime {
            let response = #expect(throws: GatewayResponse.self) {
                try request.notification(for: Self.platform(), at: .zero)
            }
            #expect(response == GatewayResponse(400, "BadExpirationDate"))
        } else {
            _ = try request.notification(for: Self.platform(), at: .zero)
        }
    }

    @Test(arguments: ["topic", "channel-id", "request-id", "trace", "x", String(repeating: "p", count: 33)])
    func `other headers are ignored, as APNs does`(name: String) throws {
        var request = Self.request()
        _ = request.note(unknown: name)
        #expect(request.warning == nil)
        _ = try request.notification(for: Self.platform(), at: .zero)
    }

    @Test(arguments: Refusal.allCases)
    func `each refusal of APNs has its answer`(refusal: Refusal) {
        let response = GatewayResponse(.refused(refusal))
        #expect(response.status >= 400 && response.reason != nil)
        #expect(
            GatewayResponse(.gone(since: Instant(milliseconds: 5))).body
                == Array(#"{"reason":"Unregistered","timestamp":5}"#.utf8))
        #expect(GatewayResponse(.other) == .accepted)
    }
}
