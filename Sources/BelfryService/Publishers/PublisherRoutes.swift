import HTTPTypes
package import Hummingbird
import Logging

/// Paths for programs that publish messages: `/ntfy/<key>`, `/gotify/<key>/message`, `/apprise/<key>` and `/alerts/<key>`, where the key is
/// that of an open endpoint.
///
/// They take what is sent to an ntfy or a Gotify server, by Apprise's `json://`, and by the webhooks of Alertmanager and Grafana.
package struct PublisherRoutes: Sendable {
    private let services: Services
    private let check: OpenEndpointCheck

    package init(_ services: Services) {
        self.services = services
        check = OpenEndpointCheck(store: services.store, requestLimiter: services.requestLimiter)
    }

    package func add(to router: Router<APIContext>) {
        let read: @Sendable (Call) throws(InvalidInput) -> Publication = { (call) throws(InvalidInput) in
            try NtfyMessage.publication(call, now: services.clock.now)
        }
        let ntfy = serving(.ntfy, read)
        router.serve("ntfy/:key", [.post: ntfy, .put: ntfy])
        // Clients such as Apprise post JSON to the root of a server, with the key as their token or password.
        let keyed = serving(.ntfy, read) { request, _ in try Self.key(in: request) }
        let root: Router<APIContext>.Handler = { request, context in
            do { return try await keyed(request, context) } catch let error as APIError where error.isMissing {
                throw APIError(
                    .unauthorized, "This path takes the key of an ntfy publisher, as a bearer token or a password",
                    headers: [.wwwAuthenticate: #"Basic realm="Belfry""#])
            }
        }
        router.serveBesideGet("/", [.post: root, .put: root])
        router.serve("ntfy/:key/:topic", [.post: ntfy, .put: ntfy])
        for verb in ["publish", "send", "trigger"] {
            router.serve(RouterPath("ntfy/:key/:topic/\(verb)"), isSafe: false, [.get: ntfy, .post: ntfy, .put: ntfy])
        }
        router.serve("gotify/:key/message", [.post: serving(.gotify, GotifyMessage.publication)])
        router.serve("apprise/:key", [.post: serving(.apprise, AppriseMessage.publication)])
        router.serve("alerts/:key", [.post: serving(.alerts, AlertGroup.publication)])
    }

    /// A request as a publisher wrote it.
    struct Call: Sendable {
        let request: Request
        /// nil where the path names none.
        let topic: String?
        let body: [UInt8]
        let parameters: [String: String]

        /// A value by the first of its names that there is, in the headers and then in the parameters. Source: ntfy, "List of all parameters".
        func value(_ names: String...) -> String? {
            for name in names {
                let field = HTTPField.Name(name).flatMap { request.headers[$0] }
                if let value = (field ?? parameters[name.lowercased()])?.trimmed, !value.isEmpty { return value }
            }
            return nil
        }
    }

    private func serving(
        _ kind: OpenEndpoint.Kind, _ read: @escaping @Sendable (Call) throws(InvalidInput) -> Publication,
        key: @escaping @Sendable (Request, APIContext) throws -> String = { $1.parameters.get("key") ?? "" }
    ) -> Router<APIContext>.Handler {
        { request, context in
            let (endpoint, application) = try await check.endpoint(
                kind, key: try key(request, context), of: request, context)
            let bytesMax = kind == .alerts || kind == .apprise ? AlertGroup.bytesMax : Publication.bytesMax
            return try await services.shares.uploading(request, atMost: bytesMax, for: ShareHolder(application)) {
                let call = Call(
                    request: request,
                    topic: context.parameters.get("topic").map { String(percentDecoding: $0[...], plusIsSpace: false) },
                    body: try await request.bytes(atMost: bytesMax),
                    parameters: Self.parameters(request.uri.query ?? ""))
                let publication = try read(call)
                let id = try await publish(publication, at: endpoint, of: application, context.logger)
                return Self.answer(publication, id, kind, at: services.clock.now)
            }
        }
    }

    /// The key as a bearer token, or as a password beside any user. Source: ntfy, "Authentication".
    private static func key(in request: Request) throws -> String {
        let header = try request.headers.authorization() ?? ""
        let words = header.split(separator: " ")
        if words.count == 2, words[0].lowercased() == "bearer" { return String(words[1]) }
        return String(decoding: BasicCredentials.parts(of: header)?.secret ?? [], as: UTF8.self)
    }

    static func parameters(_ query: String) -> [String: String] {
        query.split(separator: "&").reduce(into: [:]) { parameters, part in
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(percentDecoding: pair[0], plusIsSpace: true).lowercased()
            parameters[name] = pair.count == 2 ? String(percentDecoding: pair[1], plusIsSpace: true) : ""
        }
    }

    /// Accepts the push, or makes the schedule. Returns the id of either. A template that cannot be filled gives way to the publisher's own
    /// text: senders repeat nothing that was refused.
    private func publish(
        _ publication: Publication, at endpoint: OpenEndpoint, of application: Application, _ logger: Logger
    ) async throws -> String {
        let options = try PublisherOptions(endpoint.options, of: endpoint.kind)
        func accept(by template: TemplateReference?) async throws -> String {
            let request = try await request(publication, options, by: template, for: application.key)
            if let sendAt = publication.sendAt, sendAt > services.clock.now {
                let author = AuditAuthor(endpoint)
                return try await services.pushes.schedule(request, at: sendAt, for: application, by: author).key.id
            }
            return try await services.pushes.send(request, for: application.key).receiptID.lowercased
        }
        if let template = options.template {
            do {
                return try await accept(by: template)
            } catch let fault as InvalidInput {
                logger.warning(
                    "template of a publisher cannot be filled",
                    metadata: ["template": "\(template.text)", "error": "\(fault)"])
            }
        }
        do { return try await accept(by: nil) } catch let fault as InvalidInput {
            // Senders know the parts of a message by the names that ntfy has for them.
            throw fault.renamed(["message.link": "click", "message.image": "attach", "target.topics[0]": "topic"])
        }
    }

    /// The push, by a template or with the publisher's own text. Texts that make it too large for a platform are cut.
    private func request(
        _ publication: Publication, _ options: PublisherOptions, by template: TemplateReference?,
        for application: Key<Application>
    ) async throws -> PushRequest {
        let longestText = max(publication.body?.utf8.count ?? 0, publication.title?.utf8.count ?? 0)
        if template == nil, longestText <= 128 {
            return try publication.pushRequest(options, template: nil, bytesMax: 128)
        }
        var filled: (reference: TemplateReference, values: Set<String>)?
        if let template {
            var content = try await services.store.templateContent(template, of: application)
            content?.isTemplate = true
            filled = (template, Set(try content?.valuesOfPlaceholders() ?? []))
        }
        var longest: PushRequest?
        for bytesMax in [Publication.bytesMax, 2_048, 512, 128] {
            let request = try publication.pushRequest(options, template: filled, bytesMax: bytesMax)
            do {
                if try await services.pushes.preview(request, for: application).tooLarge.isEmpty { return request }
                longest = longest ?? request
            } catch let fault as InvalidInput where fault.isTooLarge {}
        }
        // Where no cut makes it fit all platforms, the others get as much as they can take.
        return try longest ?? publication.pushRequest(options, template: filled, bytesMax: 128)
    }

    /// The answer in the form of the server that the publisher was written for.
    private static func answer(
        _ publication: Publication, _ id: String, _ kind: OpenEndpoint.Kind, at now: Instant
    ) -> Response {
        .object { json in
            switch kind {
            case .gotify:
                // Gotify numbers its messages and applications; those here have a receipt.
                json.integer("id", 0)
                json.integer("appid", 0)
                json.string("date", now.text)
            case .ntfy:
                json.string("id", id)
                json.integer("time", (publication.sendAt ?? now).milliseconds / 1_000)
                json.string("event", "message")
                json.string("topic", publication.topic ?? "")
            default: break
            }
            if publication.sendAt == nil { json.string("receipt_id", id) }
            if let title = publication.title { json.string("title", title) }
            json.string("message", publication.body ?? "")
            json.integer("priority", Int64(publication.priority))
        }
    }
}
