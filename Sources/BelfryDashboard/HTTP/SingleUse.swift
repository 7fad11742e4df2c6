import BelfryAPI
import BelfryCore
import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird

/// Does what a form asks for once, however often the form is posted: by F5, Back, a second click, or from two tabs.
///
/// Each page gives its forms a random key. The first post of a key that has an effect leaves a record (`IdempotencyStore`) with the
/// address of its result; later posts are sent there. A post without an effect, such as one with a fault in a field, leaves none.
struct SingleUse: Sendable {
    let services: Dashboard.Services

    /// The name of the hidden field.
    static let field = "key"
    /// The mark in the query of a result that a repeated post leads to.
    static let repeated = "again"
    static let doneOnce = "You sent this form twice. It was done once, and this is what came of it."
    /// The most that is kept of a result.
    private static let resultBytesMax = 262_144
    /// Longer than any post takes.
    private static let hold = Duration.seconds(35)
    /// When a second click looks for the result of the first: after ever longer pauses, some 13 s in all.
    private static let pauses: [Duration] = (0..<7).map { .milliseconds(100 << $0) }

    static func newKey() -> String { UUID().lowercased }

    /// - Parameters:
    ///   - visit: a request whose form was read.
    ///   - show: makes the HTML of a page.
    func run(
        _ visit: Visit, show: (PageView) -> String, _ handler: (Visit) async throws -> PageAnswer
    ) async throws -> PageAnswer {
        guard let key = UUID(uuidString: visit.form.raw(Self.field)) else { return try await handler(visit) }
        let reservation = Self.reservation(key, visit)
        for pause in Self.pauses {
            switch try await services.store.reserve(reservation) {
            case .first(let id): return try await perform(visit, reservation.name, id, show: show, handler)
            case .again(let id):
                try await services.store.release(reservation.name, idempotentID: id, hadNoEffect: false)
                return .invalid(Self.unknownPage(visit))
            case .answered(let answer): return .redirect(Self.marked(try path(in: answer, reservation.name)))
            case .taken: return .invalid(Self.otherValuesPage(visit))
            case .busy: try await Task.sleep(for: pause)
            }
        }
        return .invalid(Self.unknownPage(visit))
    }

    private func perform(
        _ visit: Visit, _ name: [UInt8], _ id: UUID, show: (PageView) -> String,
        _ handler: (Visit) async throws -> PageAnswer
    ) async throws -> PageAnswer {
        let answer: PageAnswer
        do {
            answer = try await handler(visit)
        } catch {
            let isRefusal = APIError(cause: error).status.kind == .clientError
            try? await services.store.release(name, idempotentID: id, hadNoEffect: isRefusal)
            throw error
        }
        switch answer {
        case .redirect(let path):
            try await keep(path, name, id)
            return answer
        case .outcome(let page):
            let html = show(page)
            // What repeats a long message back is shown once, and found again by its own pages.
            guard html.utf8.count <= Self.resultBytesMax else {
                try await keep(visit.request.uri.path, name, id)
                return .response(.html(html))
            }
            let path = try await keep(page, html, visit)
            try await keep(path, name, id)
            return .redirect(path)
        case .page, .invalid, .response:
            try await services.store.release(name, idempotentID: id, hadNoEffect: true)
            return answer
        }
    }

    private func keep(_ content: String, _ name: [UInt8], _ id: UUID) async throws {
        let sealed = try services.vault.seal(Array(content.utf8), for: VaultPurpose.answer(to: name))
        try await services.store.complete(
            name, idempotentID: id, with: StoredResponse(status: 303, content: sealed))
    }

    private func path(in answer: StoredResponse, _ name: [UInt8]) throws -> String {
        String(decoding: try services.vault.open(answer.content, for: VaultPurpose.answer(to: name)), as: UTF8.self)
    }

    // MARK: Results that are pages

    /// Keeps the page of a result for a day; returns its address.
    private func keep(_ page: PageView, _ html: String, _ visit: Visit) async throws -> String {
        let id = UUID.timeOrdered()
        let part = (page.sections.contains { $0.isSecret } ? Self.oncePrefix : "") + id.lowercased
        let name = Self.resultName(part, visit)
        let reservation = Reservation(
            name: name, caller: Self.caller(visit), request: name, idempotentID: id, hold: Self.hold)
        guard case .first = try await services.store.reserve(reservation) else { throw APIError.none("page") }
        try await keep(html, name, id)
        return Address.path("result", part)
    }

    /// The page of a result. One with a secret is shown once.
    func result(_ visit: Visit) async throws -> PageAnswer {
        let part = visit.text("result_id")
        let isSecret = part.hasPrefix(Self.oncePrefix)
        guard let id = UUID(uuidString: String(part.dropFirst(isSecret ? Self.oncePrefix.count : 0))) else {
            throw APIError.none("page")
        }
        let name = Self.resultName(part, visit)
        guard let answer = try await services.store.answer(to: name) else {
            throw APIError(.notFound, "There is no such page any more: results are kept for a day")
        }
        if isSecret {
            let mark = Self.hash("shown \(id.lowercased)", visit)
            let shown = Reservation(
                name: mark, caller: Self.caller(visit), request: mark, idempotentID: id,
                hold: IdempotencyRecord.lifetime)
            guard case .first = try await services.store.reserve(shown) else { return .page(Self.shownPage) }
        }
        return .response(.html(try path(in: answer, name)))
    }

    // MARK: Names

    private static func reservation(_ key: UUID, _ visit: Visit) -> Reservation {
        Reservation(
            name: hash("form \(visit.request.uri.path) \(key.lowercased)", visit), caller: caller(visit),
            request: visit.form.digest(but: FormData.ownFields), idempotentID: .timeOrdered(), hold: hold)
    }

    /// Before the id of a result with a secret. Its name has it too, so that no other address leads there.
    private static let oncePrefix = "once-"

    private static func resultName(_ part: String, _ visit: Visit) -> [UInt8] {
        hash("result \(part.lowercased())", visit)
    }

    /// A person's names are their own.
    private static func hash(_ text: String, _ visit: Visit) -> [UInt8] {
        Array(SHA256.hash(data: Array("person \(visit.person.key) \(text)".utf8)))
    }

    private static func caller(_ visit: Visit) -> Principal { Principal(.admin, -visit.person.key.rawValue) }

    private static func marked(_ path: String) -> String {
        path + (path.contains("?") ? "&" : "?") + "\(repeated)=1"
    }

    // MARK: Pages

    private static let shownPage: PageView = {
        var page = PageView("Shown already", lead: "A secret is shown once. If you have not kept it, make a new one.")
        page.actions = [Link("To the overview", Address.path())]
        return page
    }()

    private static func unknownPage(_ visit: Visit) -> PageView {
        var page = PageView("Sent before")
        page.problem =
            "This form was sent before, and it is not known yet whether it took effect. Look before you send it again."
        page.actions = [Link("Open the page anew", visit.request.uri.path, isMain: true)]
        return page
    }

    /// Asks whether a form that was done is to be done a second time, with other values.
    private static func otherValuesPage(_ visit: Visit) -> PageView {
        var page = PageView("Sent before, with other values")
        page.lead =
            "What you sent first was done. If you send these values too, it is done a second time."
        page.actions = [Link("Open the page anew", visit.request.uri.path)]
        guard !visit.form.hasFiles else { return page }
        var form = Form(visit.request.uri.string, "Do it again with these values")
        form.hidden = visit.form.typed.map { Form.Hidden(name: $0.name, value: $0.value) }
        var section = Section("Again")
        section.form = form
        page.sections = [section]
        return page
    }
}
