package import BelfryCore
import HTTPTypes
package import Hummingbird
import Metrics

/// The mediator's interface for senders: `POST /pnm2/send` with JSON, and `POST /pnm2` with a form.
///
/// It knows no credentials, so it serves only addresses that an operator named. Source: Acrobits, "HTTP push" and "Form HTTP
/// push".
package struct MediatorRoutes: Sendable {
    private let store: any Store
    private let acrobits: AcrobitsService
    private let relay: (any MediatorRelay)?
    private let requestLimiter: RequestLimiter
    private let endpoints: OpenEndpointCheck
    private let shares: ShareLimiter
    private let accepted = AcceptedPushes()
    private let answers = Dictionary(
        uniqueKeysWithValues: MediatorAnswer.codes.map {
            ($0, Counter(metric: .acrobitsCalls, [("code", String($0))]))
        })

    /// - Parameters:
    ///   - relay: takes messages for app ids that nobody has here; nil refuses them.
    ///   - requestLimiter: one for all APIs; nil limits only failed logins.
    ///   - shares: one for all APIs.
    package init(
        store: any Store, clock: any WallClock, relay: (any MediatorRelay)? = nil,
        requestLimiter: RequestLimiter? = nil, shares: ShareLimiter = ShareLimiter(),
        pushObserver: any PushObserver = NoPushObserver()
    ) {
        self.store = store
        self.relay = relay
        self.requestLimiter = requestLimiter ?? RequestLimiter(clock: clock)
        endpoints = OpenEndpointCheck(store: store, requestLimiter: self.requestLimiter)
        self.shares = shares
        acrobits = AcrobitsService(store: store, pushObserver: pushObserver, clock: clock)
    }

    package func add(to router: Router<APIContext>) {
        router.serve("pnm2/send", [.post: serving { try await answerJSON($0, $1, $2) }])
        router.serve("pnm2", [.post: serving { try await answerForm($0, $1, $2) }])
    }

    /// The mediators that serve the caller.
    private struct Served: Sendable {
        let applications: Set<Key<Application>>
        /// Those that answer 404 in HTTP too.
        let strict: Set<Key<Application>>
    }

    private func serving(
        _ answer: @escaping @Sendable ([UInt8], Served, APIContext) async throws -> Response
    ) -> Router<APIContext>.Handler {
        { request, context in
            let served = try await served(request, context)
            let holder = ShareHolder(application: served.applications.min())
            return try await shares.uploading(request, atMost: Acrobits.callBytesMax, for: holder) {
                try await answer(try await request.bytes(atMost: Acrobits.callBytesMax), served, context)
            }
        }
    }

    /// Throws a 404, as if there were no mediator, where none serves the caller.
    private func served(_ request: Request, _ context: APIContext) async throws -> Served {
        let mediators = try await store.openEndpoints(.acrobitsMediator).filter {
            // None is for everybody, since nothing else is asked of callers.
            !$0.allowed.isEmpty && endpoints.admits($0, request, context)
        }
        guard !mediators.isEmpty else { throw APIError(.notFound, WrongPath.explained(request.uri.path)) }
        for mediator in mediators {
            try requestLimiter.admit(Principal(.sender, mediator.application.rawValue))
        }
        let strict = mediators.filter { $0.options[AcrobitsOption.notFound] == "404" }
        return Served(
            applications: Set(mediators.map(\.application)), strict: Set(strict.map(\.application)))
    }

    // MARK: The two forms

    private func answerJSON(_ body: [UInt8], _ served: Served, _ context: APIContext) async throws -> Response {
        let value: JSONValue
        do { value = try JSONValue(json: body) } catch { return MediatorAnswer(error).response() }
        guard case .array(let items) = value else {
            return try await answer(served, context, relaying: (body, false)) { () throws(InvalidInput) in
                try AcrobitsCall(json: value)
            }.response()
        }
        guard items.count <= Acrobits.callsPerBatch else {
            return MediatorAnswer(
                InvalidInput(field: "body", "has \(items.count) messages, the limit is \(Acrobits.callsPerBatch)")
            ).response()
        }
        var answers: [JSONValue] = []
        for item in items {
            let answer = try await answer(served, context, relaying: (item.encoded, false)) { () throws(InvalidInput) in
                try AcrobitsCall(json: item)
            }
            answers.append(answer.json)
        }
        return Response(json: ByteBuffer(bytes: JSONValue.array(answers).encoded))
    }

    private func answerForm(_ body: [UInt8], _ served: Served, _ context: APIContext) async throws -> Response {
        let text = String(decoding: body, as: UTF8.self)
        return try await answer(served, context, relaying: (body, true)) { () throws(InvalidInput) in
            try AcrobitsCall(form: text[...])
        }.response()
    }

    /// - Parameter message: what a relay gets, and whether it is a form.
    private func answer(
        _ served: Served, _ context: APIContext, relaying message: (body: [UInt8], isForm: Bool),
        _ read: () throws(InvalidInput) -> AcrobitsCall
    ) async throws -> MediatorAnswer {
        let answer = try await sent(served, context, relaying: message, read)
        answers[answer.code]?.increment()
        return answer
    }

    private func sent(
        _ served: Served, _ context: APIContext, relaying message: (body: [UInt8], isForm: Bool),
        _ read: () throws(InvalidInput) -> AcrobitsCall
    ) async throws -> MediatorAnswer {
        do {
            switch try await acrobits.send(try read(), of: served.applications) {
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
