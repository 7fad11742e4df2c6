package import BelfryAPI
import BelfryService
import CDashboard
import Crypto
import Mustache

/// The files of the folder `dashboard/`, as they were when the server was built.
enum Asset {
    private static let files: [String: [UInt8]] = {
        let assets = UnsafeBufferPointer(start: belfry_assets(), count: Int(belfry_asset_count()))
        return Dictionary(
            uniqueKeysWithValues: assets.map { asset in
                (String(cString: asset.name), Array(UnsafeBufferPointer(start: asset.bytes, count: Int(asset.count))))
            })
    }()

    static func bytes(_ name: String) -> [UInt8]? { files[name] }

    static var templates: [(name: String, text: String)] {
        files.filter { $0.key.hasSuffix(".mustache") }.map { name, bytes in
            (String(name.dropLast(".mustache".count)), String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Files that browsers load beside the pages.
    static let names = ["style.css", "script.js", "icon.svg", "world.svg"]

    /// Part of the address of the style sheet, the script and the pictures, so that browsers may keep them for ever.
    static let version: String = {
        var hash = SHA256()
        for name in names { hash.update(data: files[name] ?? []) }
        return Array(hash.finalize().prefix(6)).hex
    }()
}

/// The templates, parsed once.
package struct Templates: Sendable {
    private let library: MustacheLibrary
    private let path: PublicPath

    /// - Parameter path: where browsers find the server; templates and views name addresses without it.
    package init(below path: PublicPath = PublicPath(of: nil)) throws {
        self.path = path
        MustacheContentTypes.register(EscapedText(), named: EscapedText.name)
        var library = MustacheLibrary()
        for (name, text) in Asset.templates { try library.register(EscapedText.pragma + text, named: name) }
        self.library = library
    }

    /// A page of a person who is logged in.
    package func page(_ page: PageView, in shell: Shell) -> String { render(Shown(page: page, shell: shell), "page") }

    /// A page before the login, with nothing beside its form.
    package func plain(_ page: PageView, in shell: Shell) -> String { render(Shown(page: page, shell: shell), "plain") }

    private func render(_ shown: Shown, _ name: String) -> String {
        path.browsers(page: library.render(shown, withTemplate: name) ?? "")
    }

    /// Mustache itself escapes by the character: `String.html` says why not to. Each template asks for it, since each partial
    /// begins with its own.
    private struct EscapedText: MustacheContentType {
        static let name = "ESCAPED"
        static var pragma: String { "{{% CONTENT_TYPE: \(name)}}" }

        func escapeText(_ text: String) -> String { text.html }
    }

    private struct Shown {
        let page: PageView
        let shell: Shell
    }
}

/// The frame around every page.
package struct Shell: Sendable {
    package var version = Asset.version
    package var release = ""
    package var csrf = ""
    /// The single-use key of its forms.
    package var key = ""
    /// The path of the page, with its query.
    package var page = ""
    /// See `PersonService.pageProof`.
    package var proof = ""
    package var person = ""
    package var role = ""
    package var isSignedIn = false
    package var menus: [Menu] = []

    package struct Menu: Sendable {
        package let label: String
        package let links: [Link]
    }

    package init() {}
}
