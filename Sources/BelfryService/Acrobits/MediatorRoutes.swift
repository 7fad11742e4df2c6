import HTTPTypes
package import Hummingbird
import Logging
import Metrics
import NIOCore

/// The mediator's interface for senders: `POST /pnm2/<key>/send` with JSON, and `POST /pnm2/<key>` with a form, where the key is that of
/// an application's mediator.
///
/// The paths without a key, as Acrobits has them, know no credentials, and all applications share them: they serve only addresses that an
/// operator named, and an address leads to the applications of one tenant. Source: Acrobits, "HTTP push" and "Form HTTP push".
package struct MediatorRoutes: Sendable {
    private let store: any Store
    private let acrobits: AcrobitsService
    private let relay: (any MediatorRelay)?
    private let requestLimiter: RequestLimiter
    private let endpoints: OpenEndpointCheck
    private let accepted = AcceptedPushes()
    private let counters = Dictionary(
        uniqueKeysWithValues: MediatorAnswer.codes.map {
            ($0, Counter(metric: .acrobitsCalls, [("code", String($0))]))
        })

    /// - Parameter relay: takes messages for app ids that are unknown here; nil refuses them.
    package init(_ services: Services, relay: (any MediatorRelay)? = nil) {
        store = services.store
        self.relay = relay
        requestLimiter = services.requestLimiter
        endpoints = OpenEndpointCheck(store: store, requestLimiter: requestLimiter)
        acrobits = services.acrobits
    }

    package func add(to router: Router<APIContext>) {
        for path in ["pnm2", "pnm2/:key"] {
            router.serve(RouterPath("\(path)/send"), [.post: serving { try await answerJSON($0, $1, $2) }])
            router.serve(RouterPath(path), [.post: serving { try await answerForm($0, $1, $2) }])
        }
    }

    /// The mediators that serve the caller.
    private struct Served: Sendable {
        let applications: Set<Key<Application>>
        /// Applications for which a dead token is a 404 in HTTP too.
        let strict: Set<Key<Application>>
        /// Whether the application was charged for the request as its key was looked at.
        let isAdmitted: Bool

        init(_ mediators: [OpenEndpoint], isAdmitted: Bool = false) {
            applications = Set(mediators.map(\.application))
            strict = Set(mediators.filter { $0.options[AcrobitsOption.notFound] == "404" }.map(\.application))
            self.isAdmitted = isAdmitted
        }
    }

    private func serving(
        _ answer: @escaping @Sendable ([UInt8], Served, APIContext) async throws -> Response
    ) -> Router<APIContext>.Handler {
        { request, context in
            // Not larger than what every connection may hold.
            let served = try await served(request, context)
            do throws(InvalidInput) { try request.refuseParameters() } catch { return MediatorAnswer(error).response() }
            return try await answer(try await request.bytes(atMost: Acrobits.callBytesMax), served, context)
        }
    }

    /// Throws a 404, as if there were no mediator, where none serves the caller.
    private func served(_ request: Request, _ context: APIContext) async throws -> Served {
        if let key = context.parameters.get("key") {
            let (mediator, _) = try await endpoints.endpoint(.acrobitsMediator, key: key, of: request, context)
            return Served([mediator], isAdmitted: true)
        }
        let found = try await endpoints.plain(request, context) { try await plainMediators(request, context) }
        guard let found else { throw APIError(.notFound, WrongPath.explained(request.uri.path)) }
        return Served(found)
    }

    /// The mediators that serve the caller without a key; nil where there is none, or they belong to several tenants.
    private func plainMediators(_ request: Request, _ context: APIContext) async throws -> [OpenEndpoint]? {
        let mediators = try await store.plainOpenEndpoints(.acrobitsMediator).filter {
            endpoints.admits($0, request, context)
        }
        var tenants: Set<Key<Tenant>> = []
        for mediator in mediators {
            if let tenant = try await store.application(mediator.application)?.tenantKey { tenants.insert(tenant) }
        }
        return tenants.count == 1 ? mediators : nil
    }

    /// Charges each message to the applications that it is for, and to one that serves the caller where it is for none. The first of a
    /// request with a key was charged for with it.
    private func admit(
        _ routes: [Result<AcrobitsService.Route, InvalidInput>], _ served: Served
    ) throws(APIError) {
        let anyone = Set(served.applications.min().map { [$0] } ?? [])
        for route in routes.dropFirst(served.isAdmitted ? 1 : 0) {
            let named = (try? route.get())?.applications ?? []
            for application in named.isEmpty ? anyone : named {
                try requestLimiter.admit(.endpoints(of: application))
            }
        }
    }

    // MARK: The two forms

    private func answerJSON(_ body: [UInt8], _ served: Served, _ context: APIContext) async throws -> Response {
        let value: JSONValue
        do { value = try JSONValue(json: body) } catch { return MediatorAnswer(error).response() }
        guard case .array(let items) = value else {
            let message = Message(body: body, isForm: false) { () throws(InvalidInput) in try AcrobitsCall(json: value)
            }
            return try await answers([message], served, context)[0].response()
        }
        guard items.count <= Acrobits.callsPerBatch else {
            return MediatorAnswer(
                InvalidInput(field: "body", "has \(items.count) messages, the limit is \(Acrobits.callsPerBatch)")
            ).response()
        }
        let messages = items.map { item in
            Message(body: item.encoded, isForm: false) { () throws(InvalidInput) in try AcrobitsCall(json: item) }
        }
        let answers = try await answers(messages, served, context)
        return Response(json: ByteBuffer(bytes: JSONValue.array(answers.map(\.json)).encoded))
    }

    private func answerForm(_ body: [UInt8], _ served: Served, _ context: APIContext) async throws -> Response {
        let text = String(decoding: body, as: UTF8.self)
        let message = Message(body: body, isForm: true) { () throws(InvalidInput) in try AcrobitsCall(form: text) }
        return try await answers([message], served, context)[0].response()
    }

    private struct Message {
        /// The message in the form for a relay.
        let body: [UInt8]
        let isForm: Bool
        let call: Result<AcrobitsCall, InvalidInput>

        init(body: [UInt8], isForm: Bool, _ read: () throws(InvalidInput) -> AcrobitsCall) {
            self.body = body
            self.isForm = isForm
            do throws(InvalidInput) { call = .success(try read()) } catch { call = .failure(error) }
        }
    }

    /// All messages are charged for before the first of them is sent.
    private func answers(
        _ messages: [Message], _ served: Served, _ context: APIContext
    ) async throws -> [MediatorAnswer] {
        var routes: [Result<AcrobitsService.Route, InvalidInput>] = []
        for message in messages {
            switch message.call {
            case .success(let call):
                routes.append(.success(try await acrobits.route(call, among: served.applications)))
            case .failure(let error): routes.append(.failure(error))
            }
        }
        try admit(routes, served)
        var all: [MediatorAnswer] = []
        for (message, route) in zip(messages, routes) {
            let answer: MediatorAnswer
            do {
                answer = try await sent(route, message, served, context)
            } catch {
                // The messages before it are accepted, and are not to be sent again.
                guard !all.isEmpty else { throw error }
                context.logger.warning("a message of a batch failed", metadata: ["error": "\(error)"])
                answer = .failed
            }
            counters[answer.code]?.increment()
            all.append(answer)
        }
        return all
    }

    private func sent(
        _ route: Result<AcrobitsService.Route, InvalidInput>, _ message: Message, _ served: Served,
        _ context: APIContext
    ) async throws -> MediatorAnswer {
        do {
            switch try await acrobits.send(try route.get()) {
            case .sent(let push):
                accepted.note(push, context.logger)
                return .sent
            case .dead(let application): return .dead(isStrict: served.strict.contains(application))
            case .unknownAppID:
                guard let relay else { return .unknownAppID }
                return MediatorAnswer(try await relay.relay(message.body, isForm: message.isForm))
            }
        } catch let error as InvalidInput {
            return MediatorAnswer(error)
        }
    }
}

/// An answer of the mediator: a code and a message, as JSON.
///
/// Some senders read only the code in the body, others only the HTTP status, so both say whether to send again or to forget. Source:
/// docs/compatibility/acrobits.md.
struct MediatorAnswer: Sendable, Hashable {
    let status: Int
    let code: Int
    private let words: String

    static let codes = [200, 400, 404, 500, 502]

    static let sent = MediatorAnswer(200, 200, "Your message was sent.")
    static let unknownAppID = MediatorAnswer(400, 400, "AppId is unknown, or takes no token like this one")
    static let failed = MediatorAnswer(500, 500, "The message was not taken: send it again")

    /// - Parameter isStrict: whether the status of HTTP is 404 too. Otherwise it is 200, as documented.
    static func dead(isStrict: Bool) -> MediatorAnswer {
        MediatorAnswer(isStrict ? 404 : 200, 404, "404: the device token is not registered any more")
    }

    private init(_ status: Int, _ code: Int, _ words: String) {
        self.status = status
        self.code = code
        self.words = words
    }

    init(_ error: InvalidInput) { self.init(400, 400, error.description) }

    /// Passes on the answer of another mediator.
    init(_ relayed: RelayedAnswer) {
        switch relayed {
        case .answered(let status, let code, let words): self.init(status, code, words)
        case .unreachable: self.init(502, 500, "The mediator that this message is for cannot be reached")
        }
    }

    var json: JSONValue { .object(["code": .integer(Int64(code)), "response": .string(words)]) }

    func response() -> Response {
        Response(status: HTTPResponse.Status(code: status), json: ByteBuffer(bytes: json.encoded))
    }
}
