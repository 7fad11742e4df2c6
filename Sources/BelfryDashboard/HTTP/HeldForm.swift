import BelfryAPI
import BelfryCore
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore

/// A form that was posted when the session was over. It travels through the login in the browser, sealed, and is shown again after it,
/// filled in. Nothing of it is done before the person sends it again.
struct HeldForm: Sendable {
    /// The page that it stood on: a path of the dashboard with its query.
    let page: String
    /// Where it was posted to.
    let action: String
    let data: FormData

    /// The hidden field of every form that names its page.
    static let pageField = "form_page"
    /// The hidden field of the login that carries one.
    static let field = "held"
    /// Of its fields, URL-encoded: what is longer is not held, since nobody is known yet whose memory it would take.
    static let bytesMax = 40 << 10
    /// Of a body before the login: one with a held form.
    static let bodyBytesMax = 64 << 10

    /// The one that the page which is being made shows again.
    @TaskLocal static var current: HeldForm?

    /// Shows the page of a held form to somebody who is logged in.
    typealias Resume = @Sendable (HeldForm, Request, APIContext) async throws -> Response

    var notice =
        "You had been logged out, so nothing was done. Here is the form as you sent it; passwords and files are to be given again."

    static let ofAnEarlierLogin =
        "The form was of an earlier login, so nothing was done. Here it is as you sent it; passwords and files are to be given again."

    /// The request for its page.
    func request(like posted: Request) -> Request {
        var head = posted.head
        (head.method, head.path) = (.get, page)
        return Request(head: head, body: RequestBody(buffer: ByteBuffer()))
    }

    /// nil where nothing was typed.
    init?(_ form: FormData, to action: String) {
        let page = Address.checked(next: form.raw(Self.pageField))
        guard !form.typed.isEmpty else { return nil }
        (self.page, self.action, data) = (page, action, form)
    }

    // MARK: In the browser

    /// nil where it is too long.
    func sealed(by people: PersonService, for visit: String) throws -> String? {
        let fields =
            [(Self.pageField, page), (Self.actionField, action)] + data.typed.filter { !Self.secrets.contains($0.name) }
        let text = FormData.urlEncoded(fields)
        guard text.utf8.count <= Self.bytesMax else { return nil }
        return Data(try people.seal(text, visit: visit)).base64URL
    }

    private static let actionField = "form_action"

    /// Fields that are not shown again, so they need not travel.
    private static let secrets = Set(
        ["password", "old", "again", "code", "secret"]
            + CredentialFields.kinds.flatMap(CredentialFields.fields).filter(\.isSecret).map(\.name))

    init?(sealed text: String, by people: PersonService, for visit: String) {
        guard !text.isEmpty, let bytes = Data(base64URL: text),
            let opened = people.open(state: Array(bytes), visit: visit),
            let form = try? FormData(urlEncoded: opened)
        else { return nil }
        self.init(form, to: form.raw(Self.actionField))
    }

    // MARK: On its page

    /// The page with this form filled in.
    func fill(_ page: PageView) -> PageView {
        var page = page.saying(notice)
        for index in page.sections.indices where page.sections[index].form?.action == action {
            page.sections[index].form?.keep(data)
        }
        return page
    }
}
