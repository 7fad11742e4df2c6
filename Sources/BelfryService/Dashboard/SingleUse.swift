import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird

/// Does what a form asks for once, however often the form is posted: by F5, Back, a second click, or from two tabs.
///
/// Each page gives its forms a random key. The first post of a key that has an effect leaves a record (`Store.reserve`) with the
/// address of its result; later posts are sent there. A post without an effect, such as one with a fault in a field, leaves none.
struct SingleUse: Sendable {
    private let once: DoneOnce

    static let field = "key"
    /// The mark in the query of a result that a repeated post leads to.
    static let repeated = "again"
    static let doneOnce = "You sent this form twice. It was done once; this is the result."
    static let doneBefore =
        "You sent this form before, and it was done. If you send it again, it is done a second time; enter passwords and choose files again."
    /// The most that is kept of a result, and of a person; the oldest give way.
    static let (resultBytesMax, resultsMax) = (16_384, 32)
    /// When a second click looks for the result of the first: after ever longer pauses, some 13 s in all.
    private static let pauses: [Duration] = (0..<7).map { .milliseconds(100 << $0) }

    init(services: Dashboard.Services) { once = DoneOnce(store: services.store, vault: services.vault) }

    /// The form was done with other values.
    struct OtherValues: Error {}

    static func newKey() -> String { UUID().lowercased }

    /// - Parameters:
    ///   - visit: a request whose form was read.
    ///   - show: makes the HTML of a page.
    /// - Throws: `OtherValues` where it was done already, and these are other ones.
    func run(
        _ visit: DashboardRequest, show: (PageView) async -> String,
        _ handler: (DashboardRequest) async throws -> PageAnswer
    ) async throws -> PageAnswer {
        guard let key = UUID(text: visit.form.raw(Self.field)) else { return try await handler(visit) }
        func holder(_ name: [UInt8], _ id: UUID) -> DoneOnce.Holder { .init(name, id, visit.context.logger) }
        let reservation = Self.reservation(key, visit)
        for pause in Self.pauses {
            switch try await once.store.reserve(reservation) {
            case .first(let id): return try await perform(visit, holder(reservation.name, id), show: show, handler)
            case .again(let id):
                await once.release(holder(reservation.name, id), hadNoEffect: false)
                return .invalid(Self.unknownPage(visit))
            case .answered(let answer): return .redirect(Self.marked(try text(of: answer, reservation.name)))
            case .taken: throw OtherValues()
            case .busy: try await Task.sleep(for: pause)
            }
        }
        return .invalid(Self.unknownPage(visit))
    }

    private func perform(
        _ visit: DashboardRequest, _ holder: DoneOnce.Holder, show: (PageView) async -> String,
        _ handler: (DashboardRequest) async throws -> PageAnswer
    ) async throws -> PageAnswer {
        let answer = try await once.perform(holder) { try await handler(visit) }
        switch answer {
        case .redirect(let path):
            await keep(path, for: holder)
            return answer
        case .outcome(let page):
            let html = await show(page)
            // What repeats a long message back is shown once; a post of the same form leads to the page that it stood on.
            guard html.utf8.count <= Self.resultBytesMax, let path = try await keep(page, html, visit) else {
                await keep(Address.checked(next: visit.form.raw(HeldForm.pageField)), for: holder)
                return .response(.html(html))
            }
            await keep(path, for: holder)
            return .redirect(path)
        case .page, .invalid, .response:
            await once.release(holder, hadNoEffect: true)
            return answer
        }
    }

    @discardableResult
    private func keep(_ content: String, for holder: DoneOnce.Holder) async -> Bool {
        await once.keep(Array(content.utf8), status: 303, for: holder)
    }

    private func text(of answer: StoredResponse, _ name: [UInt8]) throws -> String {
        String(decoding: try once.content(of: answer, to: name), as: UTF8.self)
    }

    // MARK: Results that are pages

    /// Keeps the page of a result for a day; returns its address, or nil where it cannot be kept.
    private func keep(_ page: PageView, _ html: String, _ visit: DashboardRequest) async throws -> String? {
        let id = UUID.timeOrdered()
        let part = (page.sections.contains { $0.style == .secret } ? Self.oncePrefix : "") + id.lowercased
        let name = Self.resultName(part, visit)
        let owner = Self.resultOwner(visit)
        let reservation = Reservation(name: name, caller: owner, request: name, idempotentID: id, hold: DoneOnce.hold)
        guard case .first = try await once.store.reserve(reservation) else { throw APIError.missing("page") }
        guard await keep(html, for: .init(name, id, visit.context.logger)) else { return nil }
        // What the form did is done; the next result deletes more.
        try? await once.store.deleteOldest(of: owner, beyond: Self.resultsMax)
        return Address.path("result", part)
    }

    /// The page of a result. One with a secret is shown once, and a second click on the form sees a link to it first.
    func result(_ visit: DashboardRequest) async throws -> PageAnswer {
        let part = visit.text("result_id")
        let isSecret = part.hasPrefix(Self.oncePrefix)
        guard let id = UUID(text: part.dropFirst(isSecret ? Self.oncePrefix.count : 0)) else {
            throw APIError.missing("page")
        }
        let name = Self.resultName(part, visit)
        guard let answer = try await once.store.answer(to: name) else {
            throw APIError(
                .notFound, "This page is gone: the last \(Self.resultsMax) results are kept, for a day")
        }
        if visit.query[Self.repeated] == "1" { return .page(Self.donePage(visit, isSecret: isSecret)) }
        // HEAD shows nothing.
        if isSecret, visit.request.method == .get {
            let shown = Self.mark("shown \(id.lowercased)", visit)
            guard case .first = try await once.store.reserve(shown) else { return .page(Self.shownPage) }
        }
        return .response(.html(try text(of: answer, name)))
    }

    // MARK: Names

    private static func reservation(_ key: UUID, _ visit: DashboardRequest) -> Reservation {
        Reservation(
            name: hash("form \(visit.request.uri.path) \(key.lowercased)", visit), caller: caller(visit),
            request: visit.form.digest(but: FormData.ownFields), idempotentID: .timeOrdered(), hold: DoneOnce.hold)
    }

    /// The prefix of the id of a result with a secret. The result's name has it too, so that no other address leads there.
    private static let oncePrefix = "once-"

    private static func resultName(_ part: String, _ visit: DashboardRequest) -> [UInt8] {
        hash("result \(part.lowercased())", visit)
    }

    /// Reserves something that a person does once, under another name than that of a form. It is held for a day.
    static func mark(_ text: String, _ visit: DashboardRequest) -> Reservation {
        let name = hash(text, visit)
        return Reservation(
            name: name, caller: caller(visit), request: name, idempotentID: .timeOrdered(),
            hold: IdempotencyRecord.lifetime)
    }

    /// A person's names are their own.
    private static func hash(_ text: String, _ visit: DashboardRequest) -> [UInt8] {
        Array(SHA256.hash(data: Array("person \(visit.person.key) \(text)".utf8)))
    }

    private static func caller(_ visit: DashboardRequest) -> Principal { Principal(.admin, -visit.person.key.rawValue) }

    /// The owner under whom a person's results are counted, apart from the keys of their forms.
    private static func resultOwner(_ visit: DashboardRequest) -> Principal {
        Principal(.admin, .min + visit.person.key.rawValue)
    }

    private static func marked(_ path: String) -> String {
        path + (path.contains("?") ? "&" : "?") + "\(repeated)=1"
    }

    // MARK: Pages

    private static let shownPage: PageView = {
        var page = PageView("Already shown", lead: "A secret is shown once. If you have not kept it, make a new one.")
        page.actions = [Link("To the overview", Address.path())]
        return page
    }()

    private static func unknownPage(_ visit: DashboardRequest) -> PageView {
        var page = PageView("Already sent")
        page.problem =
            "This form was sent before, and it is not known yet whether it took effect. Check before you send it again."
        page.actions = [Link("Reload the page", visit.request.uri.path, isMain: true)]
        return page
    }

    /// A link to the result of a form. The caller adds the mark that brings the page.
    private static func donePage(_ visit: DashboardRequest, isSecret: Bool) -> PageView {
        var page = PageView("Sent twice")
        if isSecret { page.lead = "A secret is shown once: behind this link, where you have not seen it yet." }
        page.actions = [Link("See the result", visit.request.uri.path, isMain: true)]
        return page
    }

    /// The page for a form that was done with other values, and cannot be shown again with these.
    static func doneBeforePage(_ visit: DashboardRequest) -> PageView {
        var page = PageView("Already sent, with other values")
        page.lead = "What you sent first was done. These values were not used."
        page.actions = [Link("Reload the page", Address.checked(next: visit.form.raw(HeldForm.pageField)))]
        return page
    }
}
