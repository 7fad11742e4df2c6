import Crypto
import FoundationEssentials
import HTTPTypes
package import Hummingbird

/// Every path of the service broker, and who answers it.
package struct BrokerRoutes: Sendable {
    private let broker: BrokerService
    private let options: Broker.Options?
    private let requestLimiter: RequestLimiter

    /// - Parameter options: nil refuses every caller.
    package init(_ services: Services, options: Broker.Options?) {
        broker = services.broker
        self.options = options
        requestLimiter = services.requestLimiter
    }

    package func add(to router: Router<APIContext>) {
        let instance = "\(Broker.root)/service_instances/:instance_id"
        router.serve(
            RouterPath("\(Broker.root)/catalog"), [.get: answering { _ in Response(broker: Broker.catalog) }])
        router.serve(
            RouterPath(instance),
            [
                .get: answering(showInstance), .put: answering(provision), .patch: answering(update),
                .delete: answering(deprovision),
            ])
        router.serve(
            RouterPath("\(instance)/service_bindings/:binding_id"),
            [.get: answering(showBinding), .put: answering(bind), .delete: answering(unbind)])
    }

    /// A request whose sender is known.
    private struct Call: Sendable {
        let request: Request
        let parameters: Parameters
        let options: Broker.Options
        let author: AuditAuthor

        func id(_ part: String) throws(Broker.Refusal) -> String {
            let text = parameters.get(part).map { String(percentDecoding: $0[...], plusIsSpace: false) } ?? ""
            guard (1...Broker.idCharactersMax).contains(text.utf16.count), !text.utf8.contains(0) else {
                throw Broker.Refusal(.badRequest, "\(part) has to be 1 to \(Broker.idCharactersMax) characters")
            }
            return text
        }

        func body() async throws -> Broker.Body {
            try Broker.Body(try await request.bytes(atMost: Broker.bodyBytesMax))
        }

        func query(_ name: String) -> String? { request.uri.queryParameters[name[...]].map(String.init) }
    }

    private func answering(
        _ answer: @escaping @Sendable (Call) async throws -> Response
    ) -> Router<APIContext>.Handler {
        { [options, requestLimiter] request, context in
            var response: Response
            do {
                let options = try await authenticated(request, context, options)
                try Self.checkVersion(of: request)
                response = try await answer(
                    Call(
                        request: request, parameters: context.parameters, options: options,
                        author: .broker(address: requestLimiter.address(of: request, context)?.text)))
            } catch let error as APIError where error.status == .unauthorized || error.status == .tooManyRequests {
                response = Broker.Refusal(error.status, error.message).response
                response.headers.append(contentsOf: error.headers)
            } catch let error where error is CancellationError || error is BodyUnreadable {
                throw error
            } catch {
                let refusal = Broker.Refusal(cause: error, isDeletion: request.method == .delete)
                // The log says what the caller is not told.
                guard refusal.status.code < 500 else { throw error }
                response = refusal.response
            }
            if let identity = request.headers[.brokerRequestIdentity] {
                response.headers[.brokerRequestIdentity] = identity
            }
            return response
        }
    }

    private func authenticated(
        _ request: Request, _ context: APIContext, _ options: Broker.Options?
    ) async throws -> Broker.Options {
        let header = try request.headers.authorization()
        let credentials = header.flatMap { BasicCredentials.parts(of: $0) }
        // A password that an operator chose. The platform has few addresses, so none waits for guessers elsewhere.
        let known =
            header == nil
            ? nil
            : try await requestLimiter.checkGuess(at: "broker", nil, of: request, context) { _ in
                let hash = SHA256.hash(data: credentials?.secret ?? [])
                let isRight = hash.isEqual(inConstantTime: options?.passwordHash ?? SecretHash.unmatchable)
                let isUser = options.map { Array($0.user.utf8)[...] == credentials?.user } ?? false
                return isUser && isRight ? options : nil
            }
        guard let known else {
            throw APIError(
                .unauthorized, "Authentication failed: this path takes the credentials of the service broker",
                headers: [.wwwAuthenticate: #"Basic realm="Belfry service broker""#])
        }
        return known
    }

    /// Any 2.x: a later minor version adds what may be ignored.
    private static func checkVersion(of request: Request) throws(Broker.Refusal) {
        let version = request.headers[.brokerAPIVersion] ?? ""
        let parts = version.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "2", Int(parts[1]) != nil else {
            throw Broker.Refusal(
                .preconditionFailed, "X-Broker-API-Version is '\(version.prefix(16))', this broker speaks 2.17")
        }
    }

    // MARK: Service instances

    private func provision(_ call: Call) async throws -> Response {
        let (id, body) = (try call.id("instance_id"), try await call.body())
        let plan = try body.checkedPlan()
        guard body.organization?.isEmpty == false else { throw InvalidInput.missing("organization_guid") }
        guard body.space?.isEmpty == false else { throw InvalidInput.missing("space_guid") }
        if body.maintenanceVersion != nil { throw Self.maintenanceConflict }
        let fallback = body.instanceName.flatMap { try? Name($0) }
        let name = try body.name() ?? fallback ?? Name("service instance \(id)".cut(toBytes: 255))
        switch try await broker.provision(id, plan, named: name, request: body.attributes, by: call.author) {
        case .created: return Response(status: .created, broker: .object([:]))
        case .existed: return Response(broker: .object([:]))
        }
    }

    private static let maintenanceConflict = Broker.Refusal(
        .unprocessableContent, code: "MaintenanceInfoConflict", "The plans of the catalogue have no maintenance_info")

    private func update(_ call: Call) async throws -> Response {
        let instance = try await instance(call)
        let body = try await call.body()
        guard body.service == Broker.serviceID else { throw InvalidInput(field: "service_id", "is not the service's") }
        if let plan = body.plan, BrokerPlan(id: plan) != instance.plan {
            throw Broker.Refusal(.unprocessableContent, "The plan of a service instance cannot be changed")
        }
        if body.maintenanceVersion != nil { throw Self.maintenanceConflict }
        if let name = try body.name() { try await broker.rename(instance, to: name, by: call.author) }
        return Response(broker: .object([:]))
    }

    private func showInstance(_ call: Call) async throws -> Response {
        let instance = try await instance(call)
        // There is no other parameter.
        let name = try await broker.name(of: instance)
        return Response(
            broker: .object([
                "service_id": .string(Broker.serviceID), "plan_id": .string(instance.plan.id),
                "parameters": .object(name.map { ["name": .string($0)] } ?? [:]),
            ]))
    }

    private func deprovision(_ call: Call) async throws -> Response {
        _ = try Broker.plan(service: call.query("service_id"), plan: call.query("plan_id"))
        try await broker.deprovision(try call.id("instance_id"), by: call.author)
        return Response(broker: .object([:]))
    }

    private func instance(_ call: Call) async throws -> BrokerInstance {
        guard let instance = try await broker.instance(try call.id("instance_id")) else { throw BrokerError.gone }
        return instance
    }

    // MARK: Service bindings

    private func bind(_ call: Call) async throws -> Response {
        let (instance, id, body) = (try await instance(call), try call.id("binding_id"), try await call.body())
        guard try body.checkedPlan() == instance.plan else {
            throw InvalidInput(field: "plan_id", "is not the plan of the service instance")
        }
        for key in body.parameters.keys.sorted() {
            throw InvalidInput(field: "parameters.\(key)", "is no parameter, a binding takes none")
        }
        switch try await broker.bind(id, to: instance, request: body.attributes, by: call.author) {
        case .created(let credentials): return Self.reply(credentials, call.options, status: .created)
        case .existed(let credentials): return Self.reply(credentials, call.options)
        }
    }

    private func showBinding(_ call: Call) async throws -> Response {
        let instance = try await instance(call)
        guard let binding = try await broker.binding(try call.id("binding_id"), of: instance) else {
            throw BrokerError.gone
        }
        return Self.reply(try await broker.credentials(of: binding, instance), call.options)
    }

    private func unbind(_ call: Call) async throws -> Response {
        _ = try Broker.plan(service: call.query("service_id"), plan: call.query("plan_id"))
        let instance = try await instance(call)
        try await broker.unbind(try call.id("binding_id"), from: instance, by: call.author)
        return Response(broker: .object([:]))
    }

    private static func reply(
        _ credentials: BrokerService.Credentials, _ options: Broker.Options, status: HTTPResponse.Status = .ok
    ) -> Response {
        Response(
            status: status,
            broker: .object([
                "credentials": .object([
                    "api_url": .string(options.apiURL), "app_uuid": .string(credentials.application.lowercased),
                    "api_key": .string(credentials.apiKey),
                ])
            ]))
    }
}
