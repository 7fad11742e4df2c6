import BelfryCore
import FoundationEssentials

/// Writing a push: the form, the review with the size of the audience, and sending it.
struct ComposePages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "compose", .send, compose),
            make.application(.post, "compose", .send, act).taking(bytes: 512 << 10),
        ]
    }

    @Sendable private func compose(_ visit: Visit, _ application: Application) async throws -> PageAnswer {
        let platforms = try await visit.services.store.platforms(of: application.key)
        guard !platforms.isEmpty else { return .page(Self.withoutPlatforms(application)) }
        let form = ComposeForm(platforms).form(application, try await earlier(visit, application))
        return .page(Self.page(application, form))
    }

    static func withoutPlatforms(_ application: Application) -> PageView {
        var page = PageView("Compose", lead: "Add a platform first: without one there is no device to send to.")
        page.crumbs = [Link(application.name, Address.of(application))]
        page.actions = [Link("Add a platform", Address.of(application, "platforms", "new"), isMain: true)]
        return page
    }

    /// The push that the new one is a copy of.
    private func earlier(_ visit: Visit, _ application: Application) async throws -> PushRequest? {
        guard let id = UUID(uuidString: visit.query["from"]), let receipt = try await visit.services.store.receipt(id),
            receipt.push.applicationKey == application.key
        else { return nil }
        return try await visit.request(of: receipt)
    }

    static func page(_ application: Application, _ form: Form, review: [Section] = []) -> PageView {
        var page = PageView("Compose")
        page.crumbs = [Link(application.name, Address.of(application))]
        var section = Section(review.isEmpty ? "" : "The push")
        section.form = form
        page.sections = review + [section]
        return page
    }

    @Sendable private func act(_ visit: Visit, _ application: Application) async throws -> PageAnswer {
        let platforms = try await visit.services.store.platforms(of: application.key)
        let compose = ComposeForm(platforms)
        return try await visit.trying(
            compose.form(application), names: ComposeForm.names, on: { Self.page(application, $0) }
        ) {
            let request = try compose.pushRequest(visit.form)
            let sendAt = try compose.sendAt(visit.form)
            let draft = try await visit.services.pushes.draft(request, for: application.key)
            let count = try await visit.searching(application) {
                try await AudienceCount.of(draft, in: visit.services.store)
            }
            let reviewed = Int(visit.form["reviewed"]) ?? -1
            guard visit.form["action"] == "send", count.devices <= max(reviewed * 2, reviewed + 100), reviewed >= 0
            else {
                return .page(review(visit, application, platforms, request, sendAt, count))
            }
            if let sendAt, sendAt > visit.services.clock.now {
                _ = try await visit.services.pushes.schedule(request, at: sendAt, for: application, by: visit.author)
                return .redirect(Address.query(Address.of(application, "schedules"), [("done", "scheduled")]))
            }
            let push = try await visit.services.pushes.send(request, for: application, by: visit.author)
            return .redirect(
                Address.query(Address.of(application, "pushes", push.receiptID.lowercased), [("done", "sent")]))
        }
    }

    private func review(
        _ visit: Visit, _ application: Application, _ platforms: [Platform], _ request: PushRequest, _ sendAt: Instant?,
        _ count: AudienceCount
    ) -> PageView {
        var form = ComposeForm(platforms).form(application)
        form.keep(visit.form)
        form.hidden = [.init(name: "reviewed", value: String(count.devices))]
        let isLater = sendAt.map { $0 > visit.services.clock.now } ?? false
        form.others = [
            .init(
                name: "action", value: "send",
                label: isLater ? "Schedule it for \(count.words)" : "Send it to \(count.words)")
        ]
        let targeted = request.target.platforms(of: platforms).filter { request.content.isMeant(for: $0.kind) }
        return Self.page(
            application, form,
            review: Self.review(
                request, count, kinds: Set(targeted.map(\.kind)), now: visit.services.clock.now,
                url: "\(visit.serverURL)/admin/v1/apps/\(application.uuid.lowercased)/pushes"))
    }

    static func review(
        _ request: PushRequest, _ count: AudienceCount, kinds: Set<PlatformKind>, now: Instant, url: String
    ) -> [Section] {
        var section = Section("Before you send")
        section.facts = [
            Fact("Goes to", .badge(count.words, count.devices == 0 ? .warn : .good), .text(request.target.words)),
            Fact("Counted", .time(now)),
        ]
        section.facts += PlatformKind.allCases.filter(kinds.contains).compactMap { kind in
            size(of: request.content, on: kind).map { Fact(kind.title, .text($0)) }
        }
        var sections = [section]
        if let apple = kinds.first(where: \.isApple),
            let payload = try? IOSPayload(request.content, for: apple.use, receiptID: UUID(), sentAt: now)
        {
            var preview = Section("What Apple's devices get")
            (preview.codeLabel, preview.code) = ("JSON", String(decoding: payload.bytes, as: UTF8.self))
            sections.append(preview)
        }
        var curl = Section("The same by the admin API")
        (curl.codeLabel, curl.code) = ("Shell", self.curl(request, url))
        return sections + [curl]
    }

    /// How much of what the provider takes the payload is.
    private static func size(of content: Push.Content, on kind: PlatformKind) -> String? {
        let id = UUID()
        switch kind {
        case .apple(let use):
            guard let payload = try? IOSPayload(content, for: use, receiptID: id, sentAt: .distantFuture) else {
                return nil
            }
            return "\(payload.bytes.count.grouped) of \(IOSPayload.bytesMax.grouped) bytes"
        case .web:
            guard let payload = try? WebPayload(content, receiptID: id) else { return nil }
            return "\(payload.bytes.count.grouped) of \(WebPayload.bytesMax.grouped) bytes"
        case .android, .androidFCM, .androidBaidu, .huawei, .amazon:
            guard let payload = try? AndroidPayload(content, kind: kind, receiptID: id, sentAt: .distantFuture) else {
                return nil
            }
            let bytes = payload.data.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
            return "\(bytes.grouped) of \(AndroidPayload.bytesMax.grouped) bytes"
        case .windows8, .windowsPhone, .bb10, .webhook: return nil
        }
    }

    private static func curl(_ request: PushRequest, _ url: String) -> String {
        var message: [String: JSONValue] = [:]
        message["body"] = request.content.body.map(JSONValue.string)
        if !request.content.custom.isEmpty { message["custom"] = .object(request.content.custom) }
        var target: [String: JSONValue] = [:]
        let (devices, platforms) = (request.target.devices, request.target.platforms)
        target["devices"] = devices.map { .array($0.map { .string($0.lowercased) }) }
        if !request.target.topics.isEmpty { target["topics"] = .array(request.target.topics.map(JSONValue.string)) }
        if !request.target.customUserIDs.isEmpty {
            target["custom_user_ids"] = .array(request.target.customUserIDs.map(JSONValue.string))
        }
        if target.isEmpty { target["everyone"] = .bool(true) }
        target["platforms"] = platforms.map { .array($0.map { .string($0.rawValue) }) }
        let body = JSONValue.object(["message": .object(message), "target": .object(target)]).storedText
        return "curl -H \"Authorization: Bearer $KEY\" \(url) \\\n  -d '\(body.replacing("'", with: "'\\''"))'"
    }
}

extension PlatformKind {
    fileprivate var use: AppleTokenUse { if case .apple(let use) = self { use } else { .app } }
}
