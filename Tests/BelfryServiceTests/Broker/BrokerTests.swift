import BelfryTesting
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Synchronization
import Testing

@testable import BelfryService

/// A platform's use of the service broker over HTTP. Every answer is held to the specification's schemas. Source: Open Service Broker
/// API 2.17, spec.md.
@Suite struct BrokerTests {
    private static let password = "a long password of the broker"
    private static let instance = "service_instances/i-1"
    private static let binding = "service_instances/i-1/service_bindings/b-1"
    private static let deletion = "?service_id=\(Broker.serviceID)&plan_id=\(BrokerPlan.application.id)"

    private struct Platform: Sendable {
        let client: any TestClientProtocol
        let store: SQLiteStore

        func send(
            _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, version: String? = "2.17",
            user: String = "cf", password: String = BrokerTests.password
        ) async throws -> TestAnswer {
            var headers: HTTPFields = [.authorization: TestServer.User.basic(user, password)]
            headers[.brokerAPIVersion] = version
            headers[.brokerRequestIdentity] = "request-7"
            let answer = try TestAnswer(
                try await client.execute(
                    uri: "/broker/v2/\(path)", method: method, headers: headers,
                    body: body.map(ByteBuffer.init(string:))))
            let faults = Shape.broker(method, path, answer.status).faults(in: try StrictJSON(answer.text))
            #expect(faults == [], "\(method) \(path): \(answer)")
            return answer
        }

        func push(as application: String, _ apiKey: String) async throws -> Int {
            let push = #"{"message":{"body":"Hi"},"target":{"platform":"all"}}"#
            let headers: HTTPFields = [.authorization: TestServer.User.basic(application, apiKey)]
            return try await client.execute(
                uri: "/v1/push", method: .post, headers: headers, body: ByteBuffer(string: push)
            ).status.code
        }
    }

    private static func with(_ play: @escaping @Sendable (Platform) async throws -> Void) async throws {
        let clock = ManualClock()
        let store = try SQLiteStore.temporary(clock: clock)
        let router = ResponseMiddleware.router(clock: clock)
        let services = Services(store, clock: clock)
        BrokerRoutes(
            services,
            options: Broker.Options(user: "cf", password: password, apiURL: "https://push.example.org")
        ).add(to: router)
        PCFRoutes(
            services,
            health: {
                let part = PCF.Health.Part(isHealthy: true, message: "")
                return PCF.Health(database: part, queue: part, scheduler: part)
            }
        ).add(to: router)
        let app = Hummingbird.Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
        try await app.test(.live) { try await play(Platform(client: $0, store: store)) }
    }

    private static func order(
        _ plan: BrokerPlan = .application, _ more: String = #","parameters":{"name":"Bakery"}"#
    ) -> String {
        #"{"service_id":"\#(Broker.serviceID)","plan_id":"\#(plan.id)","organization_guid":"o","space_guid":"s"\#(more)}"#
    }

    private static let binds = #"{"service_id":"\#(Broker.serviceID)","plan_id":"\#(BrokerPlan.application.id)"}"#

    @Test func `the catalogue has every field the specification requires`() async throws {
        try await Self.with { platform in
            let reply = try await platform.send(.get, "catalog")
            #expect(reply.status == 200 && reply.headers[.brokerRequestIdentity] == "request-7")
            guard case .array(let services)? = reply["services"] else { throw StoreError.unknown("services") }
            var ids: Set<String> = []
            for service in services {
                guard case .array(let plans)? = service["plans"] else { throw StoreError.unknown("plans") }
                #expect(!plans.isEmpty)
                guard case .bool? = service["bindable"] else { throw StoreError.unknown("bindable") }
                for named in [service] + plans {
                    for field in ["id", "name", "description"] {
                        #expect(named[field]?.stringValue?.isEmpty == false, "\(field) of \(named)")
                    }
                    let id = try #require(named["id"]?.stringValue)
                    #expect(UUID(uuidString: id) != nil && ids.insert(id).inserted)
                    let name = try #require(named["name"]?.stringValue)
                    #expect(name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "." || $0 == "-" })
                }
            }
        }
    }

    @Test func `an instance is provisioned once; bindings have their own keys`()
        async throws
    {
        try await Self.with { platform in
            let made = try await platform.send(.put, Self.instance, Self.order())
            #expect(made.status == 201 && made.json == .object([:]), "\(made)")
            #expect(try await platform.send(.put, Self.instance, Self.order()).status == 200)
            #expect(try await platform.store.applications().map(\.name) == ["Bakery"])
            let other = try await platform.send(.put, Self.instance, Self.order(.application, ""))
            #expect(other.status == 409 && other["description"] != nil)
            #expect(try await platform.send(.put, Self.instance, Self.order(.tenant)).status == 409)
            let shown = try await platform.send(.get, Self.instance)
            #expect(shown["plan_id"] == .string(BrokerPlan.application.id))
            #expect(shown["parameters"] == .object(["name": .string("Bakery")]))

            let bound = try await platform.send(.put, Self.binding, Self.binds)
            let credentials = try #require(bound["credentials"])
            #expect(bound.status == 201 && credentials["api_url"] == .string("https://push.example.org"))
            let app = try #require(credentials["app_uuid"]?.stringValue)
            let key = try #require(credentials["api_key"]?.stringValue)
            let again = try await platform.send(.put, Self.binding, Self.binds)
            #expect(again.status == 200 && again.json == bound.json)
            #expect(try await platform.send(.get, Self.binding).json == bound.json)
            let second = try await platform.send(.put, Self.binding + "b", Self.binds)["credentials"]?["api_key"]
            #expect(second?.stringValue.map { $0 != key } == true)
            #expect(try await platform.push(as: app, key) == 200)

            #expect(try await platform.send(.delete, Self.binding + Self.deletion).status == 200)
            #expect(try await platform.send(.delete, Self.binding + Self.deletion).status == 410)
            #expect(try await platform.send(.get, Self.binding).status == 404)
            #expect(try await platform.push(as: app, key) == 401)
            #expect(try await platform.push(as: app, second?.stringValue ?? "") == 200)
            #expect(try await platform.send(.delete, Self.instance + Self.deletion).status == 200)
            #expect(try await platform.send(.delete, Self.instance + Self.deletion).status == 410)
            #expect(try await platform.store.applications().isEmpty)
            let audited = try await platform.store.auditLog(AuditQuery(bounds: .everything, limit: 20)).map(\.change)
            #expect(audited.allSatisfy { $0.keyID == "broker" })
            #expect(audited.first { $0.action == "broker.unbind" }?.application != nil)
            #expect(
                Set(audited.map(\.action)) == ["app.create", "broker.bind", "broker.unbind", "app.delete"], "\(audited)"
            )
        }
    }

    @Test func `the plan tenant makes a tenant that leaves with it`() async throws {
        try await Self.with { platform in
            #expect(try await platform.send(.put, Self.instance, Self.order(.tenant)).status == 201)
            let application = try #require(try await platform.store.applications().first)
            #expect(application.tenantKey != Tenant.first)
            let path = "\(Self.instance)?service_id=\(Broker.serviceID)&plan_id=\(BrokerPlan.tenant.id)"
            #expect(try await platform.send(.delete, path).status == 200)
            #expect(try await platform.store.tenants(after: nil, limit: 9).count == 1)
        }
    }

    @Test func `the next attempt completes a crash's half; orphans can go`()
        async throws
    {
        try await Self.with { platform in
            let body = try Broker.Body(Array(Self.order().utf8))
            for id in ["i-1", "i-2"] {
                _ = try await platform.store.create(
                    NewBrokerInstance(
                        id: id, plan: .application, request: body.attributes, application: UUID(), tenant: nil))
            }
            #expect(try await platform.send(.put, Self.instance, Self.order()).status == 201)
            #expect(try await platform.store.applications().count == 1)
            #expect(try await platform.send(.delete, "service_instances/i-2" + Self.deletion).status == 200)
            #expect(try await platform.send(.delete, "service_instances/never" + Self.deletion).status == 410)
            #expect(
                try await platform.send(.delete, "service_instances/never/service_bindings/b" + Self.deletion).status
                    == 410)
        }
    }

    @Test func `a deletion during provisioning leaves no application`() async throws {
        let store = try SQLiteStore.temporary(clock: ManualClock())
        let author = AuditAuthor.broker(address: nil)
        let writes = Mutex(0)
        let interrupted = InterceptedStore(store) { access in
            guard access == .write else { return }
            let count = writes.withLock { count in
                count += 1
                return count
            }
            // The first write is that of the instance, the second that of its application.
            if count == 2 { try await Services(store, clock: store.clock).broker.deprovision("i-1", by: author) }
        }
        let broker = Services(interrupted, clock: store.clock).broker
        await #expect(throws: BrokerError.self) {
            try await broker.provision("i-1", .application, named: try Name("Bakery"), request: "{}", by: author)
        }
        #expect(try await store.applications().isEmpty)
    }

    @Test(arguments: BrokerPlan.allCases)
    func `a repetition at the same time makes nothing twice`(plan: BrokerPlan) async throws {
        let store = try SQLiteStore.temporary(clock: ManualClock())
        let writes = Mutex(0)
        let provision = { @Sendable (store: any Store) in
            try await Services(store, clock: store.clock).broker.provision(
                "i-1", plan, named: try Name("Bakery"), request: "{}", by: .broker(address: nil))
        }
        let interrupted = InterceptedStore(store) { access in
            guard access == .write else { return }
            let count = writes.withLock { count in
                count += 1
                return count
            }
            // The first write is that of the instance, the second that of its tenant or its application.
            if count == 2 { _ = try await provision(store) }
        }
        let fate = try await provision(interrupted)
        let isNew = if case .created = fate { true } else { false }
        #expect(!isNew)
        let lines = try await store.auditLog(AuditQuery(bounds: .everything, limit: 9)).map(\.change.action)
        #expect(lines == (plan == .tenant ? ["app.create", "tenant.create"] : ["app.create"]))
    }

    @Test func `a long id makes a name that fits`() async throws {
        try await Self.with { platform in
            let path = "service_instances/" + String(repeating: "%C3%A4", count: 200)
            let made = try await platform.send(.put, path, Self.order(.application, ""))
            #expect(made.status == 201, "\(made)")
            #expect(try await platform.store.applications().first?.name.utf8.count == 254)
        }
    }

    @Test func `an instance can be renamed, and keeps its plan`() async throws {
        try await Self.with { platform in
            _ = try await platform.send(.put, Self.instance, Self.order())
            let service = #"{"service_id":"\#(Broker.serviceID)""#
            let renamed = try await platform.send(.patch, Self.instance, service + #","parameters":{"name":"Dairy"}}"#)
            #expect(renamed.status == 200)
            #expect(try await platform.store.applications().map(\.name) == ["Dairy"])
            let shown = try await platform.send(.get, Self.instance)
            #expect(shown["parameters"] == .object(["name": .string("Dairy")]))
            let moved = try await platform.send(
                .patch, Self.instance, service + #","plan_id":"\#(BrokerPlan.tenant.id)"}"#)
            #expect(moved.status == 422)
        }
    }

    @Test(
        arguments: [
            ("PUT", instance, "{", 400), ("PUT", instance, "{}", 400),
            ("PUT", instance, order(.application, #","parameters":{"size":9}"#), 400),
            ("PUT", instance, order(.application, #","parameters":{"name":7}"#), 400),
            ("PUT", instance, order().replacing(Broker.serviceID, with: "x"), 400),
            ("PUT", instance, order(.application, #","maintenance_info":{"version":"1.0.0"}"#), 422),
            ("PUT", instance, String(repeating: " ", count: 70_000), 413), ("PUT", binding, binds, 404),
            ("GET", instance, nil, 404), ("DELETE", instance, nil, 400), ("PATCH", instance, "{}", 404),
            ("PUT", "service_instances/\(String(repeating: "i", count: 256))", order(), 400),
        ] as [(String, String, String?, Int)])
    func `an invalid request gets the specified status and changes nothing`(
        method: String, path: String, body: String?, status: Int
    ) async throws {
        try await Self.with { platform in
            let reply = try await platform.send(try #require(HTTPRequest.Method(method)), path, body)
            #expect(reply.status == status && reply["description"]?.stringValue?.isEmpty == false, "\(reply)")
            #expect(try await platform.store.applications().isEmpty)
        }
    }

    @Test(arguments: ["7", "\"\"", "\"  \"", "\"\(String(repeating: "n", count: 300))\""])
    func `a refused name is called as it was sent`(name: String) async throws {
        try await Self.with { platform in
            let order = Self.order(.application, #","parameters":{"name":\#(name)}"#)
            let reply = try await platform.send(.put, Self.instance, order)
            #expect(reply.status == 400)
            #expect(reply["description"]?.stringValue?.hasPrefix("parameters.name ") == true, "\(reply)")
        }
    }

    @Test func `other versions and other credentials are turned away`() async throws {
        try await Self.with { platform in
            for version in [nil, "1.0", "3.0", "2", "2.x", ""] as [String?] {
                let reply = try await platform.send(.get, "catalog", version: version)
                #expect(reply.status == 412, "\(version ?? "none")")
            }
            for version in ["2.13", "2.17", "2.18"] {
                let reply = try await platform.send(.get, "catalog", version: version)
                #expect(reply.status == 200, "\(version)")
            }
            let stranger = try await platform.send(.get, "catalog", user: "me")
            let guesser = try await platform.send(.get, "catalog", password: "")
            #expect(stranger.status == 401 && guesser.status == 401)
        }
    }
}
