/// A part of a page, which writes itself.
///
/// A text and the value of an attribute are escaped wherever they stand; the names of tags and attributes are literals of the program. Nothing
/// else is written.
protocol HTML: Sendable {
    func write(to page: inout HTMLWriter)
}

/// A part of a page that is made of others.
protocol Component: HTML {
    @HTMLBuilder var content: [any HTML] { get }
}

extension Component {
    func write(to page: inout HTMLWriter) { page.write(content) }
}

extension String: HTML {
    func write(to page: inout HTMLWriter) { page.write(text: self) }
}

/// An element with its attributes and content.
///
///     Tag("p", ["class": "lead", "hidden": isHidden]) { "Hello"; Tag("b", name) }
struct Tag: HTML {
    typealias Attributes = KeyValuePairs<StaticString, any AttributeValue>

    private let name: StaticString
    private let attributes: Attributes
    private let content: [any HTML]

    /// Elements that have no content, and no end.
    private static let void: Set = ["img", "input", "link", "meta"]

    init(
        _ name: StaticString, _ attributes: Attributes = [:], @HTMLBuilder content: () -> [any HTML] = { [] }
    ) {
        (self.name, self.attributes, self.content) = (name, attributes, content())
    }

    init(_ name: StaticString, _ attributes: Attributes, _ text: String) {
        (self.name, self.attributes, content) = (name, attributes, [text])
    }

    init(_ name: StaticString, _ text: String) { self.init(name, [:], text) }

    func write(to page: inout HTMLWriter) {
        page.write(markup: "<")
        page.write(markup: name)
        for (name, value) in attributes { value.write(as: name, to: &page) }
        page.write(markup: ">")
        guard !Self.void.contains(name.description) else { return }
        page.write(content)
        page.write(markup: "</")
        page.write(markup: name)
        page.write(markup: ">")
    }
}

/// The value of an attribute: a text, a number, or whether the attribute is there. Without a value it is left out.
protocol AttributeValue: Sendable {
    func write(as name: StaticString, to page: inout HTMLWriter)
}

extension String: AttributeValue {
    func write(as name: StaticString, to page: inout HTMLWriter) { page.write(attribute: name, self) }
}

extension Int: AttributeValue {
    func write(as name: StaticString, to page: inout HTMLWriter) { page.write(attribute: name, String(self)) }
}

extension Bool: AttributeValue {
    func write(as name: StaticString, to page: inout HTMLWriter) {
        if self { page.write(attribute: name, nil) }
    }
}

extension Optional: AttributeValue where Wrapped: AttributeValue {
    func write(as name: StaticString, to page: inout HTMLWriter) { self?.write(as: name, to: &page) }
}

/// Joins the names that are there, as the value of a `class`.
func classes(_ names: String?...) -> String? {
    let names = names.compactMap(\.self)
    return names.isEmpty ? nil : names.joined(separator: " ")
}

/// Makes a list of elements that stand below one another, with conditions and loops among them.
@resultBuilder enum ListBuilder<Element> {
    static func buildExpression(_ element: Element?) -> [Element] { element.map { [$0] } ?? [] }
    static func buildExpression(_ elements: [Element]) -> [Element] { elements }
    static func buildBlock(_ lists: [Element]...) -> [Element] { Array(lists.joined()) }
    static func buildOptional(_ list: [Element]?) -> [Element] { list ?? [] }
    static func buildEither(first list: [Element]) -> [Element] { list }
    static func buildEither(second list: [Element]) -> [Element] { list }
    static func buildArray(_ lists: [[Element]]) -> [Element] { Array(lists.joined()) }
}

typealias HTMLBuilder = ListBuilder<any HTML>

/// The text of a page while it is written.
struct HTMLWriter {
    /// The frame of the page, whose tokens its forms carry.
    let shell: Shell
    private(set) var text = ""
    /// Whether it shows pictures of the tile server.
    var hasTiles = false

    init(_ shell: Shell) { self.shell = shell }

    mutating func write(_ parts: [any HTML]) { for part in parts { part.write(to: &self) } }

    mutating func write(text: String) { self.text += text.html }

    fileprivate mutating func write(attribute name: StaticString, _ value: String?) {
        write(markup: " ")
        write(markup: name)
        guard let value else { return }
        write(markup: "=\"")
        write(text: Self.addresses.contains(name.description) ? shell.path.browsers(value) : value)
        write(markup: "\"")
    }

    /// Writes what the program itself has as a literal, and no text of others.
    mutating func write(markup: StaticString) { text += markup.description }

    /// Attributes that hold addresses, which get the path below which browsers find the server.
    private static let addresses: Set = ["href", "action", "src", "data-live", "data-draft", "data-aside"]
}
