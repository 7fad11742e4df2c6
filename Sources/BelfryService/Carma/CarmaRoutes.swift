import FoundationEssentials
import HTTPTypes
package import Hummingbird
import Metrics

/// The routes of Carma's REST API that pushes need, and the pages that its pushes lead to.
package struct CarmaRoutes: Sendable {
    let carma: CarmaService
    let store: any Store
    let shares: ConcurrencyLimiter
    private let authenticator: CarmaAuthenticator
    private let requestLimiter: RequestLimiter
    private let options: Carma.Options
    let registered = Counter(metric: .registrations)

    package init(_ services: Services, options: Carma.Options = Carma.Options()) {
        requestLimiter = services.requestLimiter
        authenticator = CarmaAuthenticator(
            store: services.store, requestLimiter: services.requestLimiter,
            passwords: KnownPasswords(services.passwords))
        store = services.store
        carma = services.carma
        shares = services.shares
        self.options = options
    }

    package func add(to router: Router<APIContext>) {
        let customer = "rest/:customer_id"
        // The older name of the path is one of the guide's second revision. Source: docs/compatibility/carma.md.
        for devices in ["\(customer)/apps/:app_id/pushdevices", "\(customer)/apps/:app_id/devices"] {
            router.serve(RouterPath(devices), [.put: answering(register)])
            // A contact may have the name of the other path.
            router.serve(
                RouterPath("\(devices)/invalidation"),
                [.put: answering(invalidate), .get: answering { try await show("invalidation", in: app($0)) }])
            router.serve(
                RouterPath("\(devices)/:original_id"),
                [.get: answering { try await show($0.parameters.get("original_id") ?? "", in: app($0)) }])
        }
        router.serve(RouterPath("\(customer)/triggers/:trigger_id/messages"), [.post: answering(send)])
        addLists(to: router, customer)
        router.serve("carma/content/:page", isSafe: false, [.get: page { $0 }])
        router.serve("carma/read/:page", isSafe: false, [.get: page { _ in nil }])
    }

    /// A request whose sender is known.
    struct Call: Sendable {
        let request: Request
        let context: APIContext
        let customerID: Int64

        var parameters: Parameters { context.parameters }

        func part(_ name: String) -> String {
            parameters.get(name).map { String(percentDecoding: $0[...], plusIsSpace: false) } ?? ""
        }

        func number(_ name: String) -> Int64 { Int64(part(name)) ?? 0 }

        func body() async throws -> [UInt8] { try await request.bytes(atMost: Carma.bodyBytesMax) }
    }

    func answering(
        atMost bytesMax: Int = Carma.bodyBytesMax, _ answer: @escaping @Sendable (Call) async throws -> Response
    ) -> Router<APIContext>.Handler {
        { request, context in
            do {
                let customerID = context.parameters.get("customer_id").flatMap { Int64($0) } ?? 0
                let account = try await authenticator.account(customerID, of: request, context)
                try requestLimiter.admit(Principal(.sender, -account.key.rawValue))
                return try await shares.uploading(
                    request, atMost: bytesMax,
                    for: ShareHolder(application: nil, tenant: nil, account: account.key)
                ) {
                    try await answer(
                        Call(request: request, context: context, customerID: customerID))
                }
            } catch let error where error is CancellationError || error is BodyUnreadable {
                throw error
            } catch {
                let refusal = APIError(cause: (error as? InvalidInput)?.renamed(CarmaAttribute.registered) ?? error)
                // The log says what the caller is not told.
                guard refusal.status.code < 500 || error is APIError else { throw error }
                return Carma.response(refusal)
            }
        }
    }

    // MARK: Devices

    private func app(_ call: Call) async throws -> CarmaApp {
        try await carma.app(call.part("app_id"), of: call.customerID)
    }

    private func register(_ call: Call) async throws -> Response {
        let (app, change) = (try await app(call), try CarmaContactChange(try await call.body()))
        let contact = try await carma.register(change, in: app)
        registered.increment(by: change.devices.count { !$0.isInvalid })
        return Self.reply(contact.json)
    }

    private func invalidate(_ call: Call) async throws -> Response {
        let app = try await app(call)
        return Self.reply(try await carma.invalidate(try CarmaContactChange(try await call.body()), in: app).json)
    }

    func show(_ name: String, in app: CarmaApp) async throws -> Response {
        guard let contact = try await named(name, in: app).contact else {
            throw APIError(.notFound, "There is no such contact")
        }
        return Self.reply(contact.json)
    }

    /// The contact that a path names, and its id: the literal one where there is no contact.
    ///
    /// - Parameter name: still percent-encoded.
    func named(_ name: String, in app: CarmaApp) async throws -> (id: String, contact: CarmaContact?) {
        let ids = Self.ids(name)
        for id in ids { if let contact = try await carma.contact(id, in: app) { return (id, contact) } }
        return (ids[0], nil)
    }

    /// An id may hold a `+`, and Go clients write blanks so: it is tried as it is first.
    static func ids(_ name: String) -> [String] {
        [false, true].map { String(percentDecoding: name[...], plusIsSpace: $0) }
    }

    static func reply(_ json: JSONValue) -> Response { Response(json: ByteBuffer(bytes: json.encoded)) }

    // MARK: Messages

    private func send(_ call: Call) async throws -> Response {
        guard let id = Int64(call.part("trigger_id")) else { throw APIError.missing("trigger") }
        let (trigger, app) = try await carma.trigger(id, of: call.customerID)
        try call.request.refuseParameters()
        let request = try CarmaService.MessageRequest(try await call.body())
        let cameByTLS = requestLimiter.forwarded(.scheme, of: call.request, call.context) == "https"
        let address = options.address.url(call.request, call.context, cameByTLS: cameByTLS)
        let message = try await carma.send(trigger, of: app, request, address: address)
        return Self.reply(.object(["message": .string("Message \(message.key) is on its way")]))
    }

    // MARK: Pages

    /// Reading a page, or its mark, says that the message was read. The page has a security context of its own: it sets no cookies
    /// and its scripts, where it has any, reach nothing of this server's.
    private func page(_ body: @escaping @Sendable (String) -> String?) -> Router<APIContext>.Handler {
        { request, context in
            let found = try await requestLimiter.checkCredentials(
                String?.none, of: request, context, letsRightPass: true
            ) { try await carma.read(context.parameters.get("page") ?? "") }
            guard let found else { throw APIError.missing("page") }
            guard let html = body(found.html) else { return Response(status: .ok) }
            return Response(
                status: .ok,
                headers: [.contentType: "text/html; charset=utf-8", .contentSecurityPolicy: Self.policy],
                body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
        }
    }

    private static let policy =
        "sandbox allow-scripts allow-popups allow-forms; default-src https: data: 'unsafe-inline'; "
        + "frame-ancestors 'none'; base-uri 'none'"
}
