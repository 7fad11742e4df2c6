import BelfryTesting
import FoundationEssentials
import HTTPTypes
import HummingbirdTesting
import KeyFiles
import NIOCore
import Testing

@testable import BelfryService

/// Authentication and its errors.
@Suite struct HTTPTests {
    static let body = #"{"registration_token":"ab"}"#

    @Test(arguments: ["Basic ", "Basic  ", "basic ", "BASIC   ", "bAsIc "])
    func `the scheme takes any case and any number of spaces`(scheme: String) async throws {
        let server = try await TestServer()
        let header = try #require(TestServer.User.iPhone.header(server)).replacingPrefix("Basic ", with: scheme)
        #expect(try await server.register(Self.body, on: .raw(header)).status == 200)
        let bare = header.filter { $0 != "=" }
        #expect(try await server.register(Self.body, on: .raw(bare)).status == 200)
    }

    @Test func `an unknown caller and a wrong secret get equal answers`() async throws {
        let server = try await TestServer()
        let uuid = server.ios.uuid.uuidString
        let headers: [TestServer.User] = [
            .nobody, .raw(""), .raw("Basic"), .raw("Basic "), .raw("Basic !!!"), .raw("Bearer abc"),
            .raw("Basic " + Data("no-colon".utf8).base64EncodedString()),
            .raw(TestServer.User.basic("not-a-uuid", TestServer.secret)),
            .raw(TestServer.User.basic(UUID().uuidString, TestServer.secret)),
            .raw(TestServer.User.basic(uuid, "wrong")), .raw(TestServer.User.basic(uuid, "")),
            .raw(TestServer.User.basic(uuid, TestServer.secret + " ")),
            .raw(TestServer.User.basic(uuid, TestServer.secret.uppercased())),
            .sender,
        ]
        for user in headers {
            let reply = try await server.register(Self.body, on: user)
            #expect(reply.status == 401)
            #expect(reply.headers[.wwwAuthenticate] == #"Basic realm="Belfry""#)
            #expect(
                reply.message
                    == "Authentication failed: this path takes HTTP Basic with platform_uuid:platform_secret. "
                    + "Back ends list devices at '/v2/registrations', with application_uuid:api_key")
        }
        #expect(try await server.store.allDevices().isEmpty)
    }

    @Test func `a platform cannot push, and all but two paths authenticate`() async throws {
        let server = try await TestServer()
        let push = #"{"message":{"body":"Hi"},"target":{"platform":"all"}}"#
        for user: TestServer.User in [.nobody, .iPhone] {
            let reply = try await server.send(.post, "/v1/push", as: user, push)
            #expect(reply.status == 401)
            #expect(reply.message?.hasSuffix("application_uuid:api_key") == true)
        }
        for (method, path) in [
            (.post, "/v1/registration"), (.put, "/v1/registration/\(UUID())"), (.get, "/v1/registration/\(UUID())"),
            (.delete, "/v1/registration/\(UUID())"), (.get, "/v1/registration/count"),
        ] as [(HTTPRequest.Method, String)] {
            #expect(try await server.send(method, path, "{}").status == 401)
        }
        #expect(try await server.send(.get, "/v1/version").status == 200)
        #expect(try await server.send(.get, "/healthcheck").status == 200)
    }

    @Test func `a deleted platform is out at once`() async throws {
        let server = try await TestServer()
        #expect(try await server.register(Self.body).status == 200)
        try await server.store.delete(server.ios.key, force: true)
        #expect(try await server.register(Self.body).status == 401)
    }

    @Test func `the version is dotted numbers and new enough for analytics`() async throws {
        let reply = try await TestServer().send(.get, "/v1/version")
        #expect(reply.text == #"{"version":"1.9.0"}"#)
    }

    @Test func `health has three parts and is 503 when one fails`() async throws {
        var server = try await TestServer()
        let well = try await server.send(.get, "/healthcheck")
        #expect(well.status == 200)
        #expect(
            well.text == #"{"database":{"healthy":true,"message":"SQLite"},"rabbitmq":{"healthy":true,"message":"#
                + #""batches flow"},"scheduler-backend":{"healthy":true,"message":"Scheduler is up"}}"#)
        server.health = PCF.Health(
            database: .init(isHealthy: false, message: "disk full"), queue: server.health.queue,
            scheduler: server.health.scheduler)
        let ill = try await server.send(.get, "/healthcheck")
        #expect(ill.status == 503)
        #expect(ill["database"] == .object(["healthy": .bool(false), "message": .string("disk full")]))
    }

    @Test func `an error has the five members that clients know`() async throws {
        let reply = try await TestServer().send(.post, "/v1/registration/", as: .iPhone, "{}")
        #expect(
            reply.json
                == .object([
                    "timestamp": .integer(1_500_000_000_000), "status": .integer(400), "error": .string("Bad Request"),
                    "message": .string("registration_token is missing"), "path": .string("/v1/registration/"),
                ]))
    }

    @Test func `a path that leads nowhere says what may be wrong`() async throws {
        let reply = try await TestServer().send(.post, "/push/v1/registration", as: .iPhone, Self.body)
        #expect(reply.status == 404)
        #expect(reply.message?.contains("take '/push' out of the service URL") == true, "\(reply)")
    }

    @Test(
        arguments: [
            (.get, "/v1/registration", "POST"), (.get, "/v1/push", "POST"), (.post, "/v1/version", "GET, HEAD"),
            (.patch, "/v1/registration/x", "DELETE, GET, HEAD, PUT"), (.trace, "/v1/push", "POST"),
        ] as [(HTTPRequest.Method, String, String)])
    func `a wrong method is a 405 that names the allowed`(
        method: HTTPRequest.Method, path: String, allowed: String
    ) async throws {
        let reply = try await TestServer().send(method, path, as: .iPhone)
        #expect(reply.status == 405)
        #expect(reply.headers[.allow] == allowed)
    }

    @Test func `HEAD is GET without the body`() async throws {
        let reply = try await TestServer().send(.head, "/healthcheck")
        #expect(reply.status == 200)
        #expect(reply.text.isEmpty)
    }

    @Test func `a body over the limit is a 413`() async throws {
        var server = try await TestServer()
        server.options.bodyBytesMax = 100
        let reply = try await server.register(#"{"registration_token":"\#(String(repeating: "a", count: 100))"}"#)
        #expect(reply.status == 413)
        #expect(reply.message?.contains("the limit") == true, "\(reply)")
        #expect(reply.message?.contains("100") == true, "\(reply)")
    }

    @Test(arguments: [
        (StoreError.overloaded(retryAfter: .milliseconds(1_500)), "2"), (.overloaded(retryAfter: .zero), "1"),
        (.unavailable("disk I/O error at /secret/path"), "5"),
    ])
    func `store trouble is a 503 with a retry time`(error: StoreError, seconds: String) async throws {
        let server = try await TestServer()
        server.fail(with: error)
        let push = try await server.push(#"{"message":{"body":"Hi"},"target":{"platform":"all"}}"#)
        for reply in [try await server.register(Self.body), push] {
            #expect(reply.status == 503)
            #expect(reply.headers[.retryAfter] == seconds)
            #expect(!reply.text.contains("secret"))
        }
    }

    @Test func `an unforeseen fault is a 500 that gives nothing away`() async throws {
        struct Fault: Error { let detail = "secret" }
        let server = try await TestServer()
        server.fail(with: Fault())
        let reply = try await server.register(Self.body)
        #expect(reply.status == 500)
        #expect(!reply.text.contains("secret"))
    }

    @Test func `answers are not for caches and not for browsers`() async throws {
        let server = try await TestServer()
        for reply in [try await server.register(Self.body), try await server.send(.get, "/nowhere")] {
            #expect(reply.headers[.cacheControl] == "no-store")
            #expect(reply.headers[.xContentTypeOptions] == "nosniff")
            #expect(reply.headers[.contentSecurityPolicy] == "default-src 'none'; frame-ancestors 'none'")
        }
    }

    @Test(arguments: [
        ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg", "foob"), ("Zm9vYmE", "fooba"),
        ("/+8=", nil),
        ("Z", nil), ("Zg=a", nil), ("Zg===", nil), ("Z g=", nil), ("Zm9vYmFy", "foobar"),
    ])
    func `Base64 follows its vectors`(text: String, expected: String?) {
        let decoded = Base64.decode(text.utf8, of: .standard)
        if text == "/+8=" {
            #expect(decoded == [0xFF, 0xEF])
            #expect(Base64.decode("_-8".utf8, of: .url) == [0xFF, 0xEF])
            #expect(Base64.decode("/+8".utf8, of: .url) == nil)
        } else {
            #expect(decoded == expected.map { Array($0.utf8) })
        }
    }
}

extension String {
    fileprivate func replacingPrefix(_ old: String, with new: String) -> String { new + dropFirst(old.count) }
}
