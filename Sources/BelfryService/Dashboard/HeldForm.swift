import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore

/// A form that was posted when the session was over. It travels through the login in the browser, sealed, and is shown again after it,
/// filled in. Nothing of it is done before the person sends it again.
struct HeldForm: Sendable {
    /// The page that it stood on: a path of the dashboard with its query.
    let page: String
    /// The address that it was posted to.
    let action: String
    let data: FormData
    /// The person whose page the form stood on. Others are not shown it.
    let person: Key<Person>
    private let proof: String

    /// The hidden fields of every form that name its page, and prove that this server made it (`PersonService.pageProof`).
    static let (pageField, proofField) = ("form_page", "form_proof")
    /// The hidden field of the login that carries one.
    static let field = "held"
    /// The limit of its fields, URL-encoded. Longer forms are not held, since they would take memory for a caller who is not logged in.
    static let bytesMax = 40 << 10
    /// The limit of a body before the login, which may carry a held form.
    static let bodyBytesMax = 64 << 10

    /// The form that the page being made shows again.
    @TaskLocal static var current: HeldForm?

    /// Shows the page of a held form to a person who is logged in.
    typealias Resume = @Sendable (HeldForm, Request, APIContext) async throws -> Response

    var notice =
        "You had been logged out, so nothing was done. Here is the form as you sent it; passwords and files are to be given again."

    static let isTooLong =
        "You had been logged out, so nothing was done, and what you sent is too long to be kept until you have logged in. "
        + "Log in in another tab, then go back here: most browsers still have what you typed."
    static let wasButton = "You had been logged out, so nothing was done. Log in, and do it again."

    static let ofAnEarlierLogin =
        "The form is from an earlier login, so nothing was done. Here it is as you sent it; enter passwords and choose files again."

    /// The request for its page.
    func request(like posted: Request) -> Request {
        var head = posted.head
        (head.method, head.path) = (.get, page)
        return Request(head: head, body: RequestBody(buffer: ByteBuffer()))
    }

    /// nil for a form of another site, which must not be shown as the person's own.
    init?(_ form: FormData, to action: String, by people: PersonService) {
        let (page, proof) = (form.raw(Self.pageField), form.raw(Self.proofField))
        guard proof.utf8.count <= 1_024, let sealed = Data(base64URL: proof),
            let person = people.person(ofPageProof: Array(sealed), page: page)
        else { return nil }
        (self.page, self.action, data) = (Address.checked(next: page), action, form)
        (self.person, self.proof, written) = (person, proof, page)
    }

    /// The page as the form names it.
    private let written: String

    /// The hidden fields of its page.
    var mark: (page: String, proof: String) { (written, proof) }

    // MARK: In the browser

    /// nil where it is too long.
    func sealed(by people: PersonService, for visit: String) throws -> String? {
        let own = [(Self.pageField, written), (Self.proofField, proof), (Self.actionField, action)]
        let fields = own + data.typed.filter { !Self.secrets.contains($0.name) }
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
        self.init(form, to: form.raw(Self.actionField), by: people)
    }

    // MARK: On its page

    /// The page with this form filled in.
    func fill(_ page: PageView) -> PageView {
        var page = page.saying(notice)
        for index in page.sections.indices {
            page.sections[index].change(Form.self) { form in
                if form.action == action {
                    form.keep(data)
                    form.keepMarks(of: data)
                }
            }
        }
        return page
    }
}
