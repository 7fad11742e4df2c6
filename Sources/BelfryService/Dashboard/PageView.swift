/// The content of a page; `Shell` puts its frame around it.
struct PageView: Sendable {
    var title: String
    var lead = ""
    var crumbs: [Link] = []
    var actions: [Link] = []
    var notice = ""
    var problem = ""
    var tabs: [Link] = []
    var stats: [Stat] = []
    var sections: [Section]
    /// The path of an event stream: the page is loaded again when it reports something.
    var live = ""

    /// - Parameters:
    ///   - application: whose page it is.
    ///   - list: the name of the list of the application that it belongs to, such as Devices.
    init(
        _ title: String, in application: Application? = nil, _ list: String? = nil, lead: String = "",
        @ListBuilder<Section> sections: () -> [Section] = { [] }
    ) {
        (self.title, self.lead, self.sections) = (title, lead, sections())
        guard let application else { return }
        crumbs = [Link(application.name, Address.of(application))]
        if let list { crumbs.append(Link(list, Address.of(application, list.lowercased()))) }
    }

    /// Gives notice of what was done just before, by the word that the address has for it.
    func saying(_ visit: DashboardRequest, _ notices: [String: String]) -> PageView {
        notices[visit.query["done"]].map(saying) ?? self
    }

    func saying(_ notice: String) -> PageView {
        var page = self
        page.notice = notice
        return page
    }
}

/// A part of a page under a heading of its own.
struct Section: Component {
    let heading: String
    let text: String
    let style: Style?
    private var parts: [any HTML]

    enum Style: String, Sendable {
        /// An action that cannot be undone.
        case danger
        /// Something that is shown once.
        case secret
        /// A map with a form at its side, where there is room.
        case paired
    }

    init(
        _ heading: String = "", text: String = "", style: Style? = nil, @HTMLBuilder parts: () -> [any HTML] = { [] }
    ) {
        (self.heading, self.text, self.style, self.parts) = (heading, text, style, parts())
    }

    var content: [any HTML] {
        Tag("section", ["class": classes("card", style?.rawValue)]) {
            if !heading.isEmpty { Tag("h2", heading) }
            if !text.isEmpty { Tag("p", ["class": "text"], text) }
            parts
        }
    }

    mutating func add(@HTMLBuilder _ more: () -> [any HTML]) { parts += more() }

    func parts<Part: HTML>(of _: Part.Type) -> [Part] { parts.compactMap { $0 as? Part } }

    /// Changes its parts of a type.
    mutating func change<Part: HTML>(_: Part.Type, _ body: (inout Part) -> Void) {
        for index in parts.indices {
            guard var part = parts[index] as? Part else { continue }
            body(&part)
            parts[index] = part
        }
    }

    /// The address of the next part of its table.
    var next: String? {
        get { parts(of: Table.self).first?.next }
        set { change(Table.self) { $0.next = newValue } }
    }
}
