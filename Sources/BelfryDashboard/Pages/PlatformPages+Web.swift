import BelfryAPI
import BelfryService

/// Web pages that may register browsers: a part of the page of a platform of type web.
extension PlatformPages {
    /// - Parameters:
    ///   - form: nil for a person who may not change the platform.
    ///   - server: the address at which the browser reaches the SDK; nil where the dashboard has a listener of its own.
    static func webPages(of platform: Platform, form: Form?, server: String?) -> Section {
        var section = Section("Web pages")
        section.form = form
        guard let access = platform.webAccess else {
            section.text =
                "No page may register browsers yet. Name the sites that may, and you get a registration key for them."
            return section
        }
        section.text = "Pages of these sites may register browsers by a key, which is no secret."
        section.facts = [Fact("Registration key", .code(access.key.text))]
        if form == nil {
            section.facts += [
                Fact("Sites", .text(access.origins.map(\.text).joined(separator: " "))),
                Fact("Proof", .text(access.provesRegistrations ? "required" : "not required")),
            ]
        }
        let testPage = "/sdk/web/v1/test#\(access.key.text)"
        if server == nil {
            section.facts.append(Fact("Test page, at the server's own address", .code(testPage)))
        } else {
            section.links = [Link("Try it in this browser", testPage, isMain: true)]
        }
        section.codeLabel = "For a page, and for its service worker"
        section.code = lines(for: access.key, at: server ?? "https://push.example.com")
        return section
    }

    private static func lines(for key: RegistrationKey, at server: String) -> String {
        """
        <script type="module">
          import { Belfry } from "\(server)/sdk/web/v1/belfry.js"
          const belfry = new Belfry({ server: "\(server)", platform: "\(key.text)" })
          button.onclick = () => belfry.subscribe({ topics: ["news"] })
        </script>

        // /belfry-worker.js at the root of the site
        importScripts("\(server)/sdk/web/v1/belfry-worker.js")
        """
    }

    static func webForm(_ platform: Platform, _ application: Application) -> Form {
        let access = platform.webAccess
        return Form(
            Address.of(application, "platforms", platform.uuid.lowercased, "web"), "Save",
            [
                .area(
                    "origins", "Sites", access?.origins.map(\.text).joined(separator: "\n") ?? "",
                    hint: "One a line. All of them: the list replaces the one before.", isRequired: true,
                    placeholder: "https://shop.example", isMono: true),
                .check(
                    "proof", "Register a browser only once it has returned what was pushed to it",
                    access?.provesRegistrations ?? true),
            ]
        ).guarded
    }

    @Sendable func setWebAccess(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        try await visit.trying(
            Self.webForm(platform, application), on: { try await page(visit, platform, application, web: $0) }
        ) {
            let edit = WebAccessEdit(
                origins: try visit.form.list("origins").map { try WebOrigin($0, field: "origins") },
                provesRegistrations: visit.form.isChecked("proof"))
            _ = try await visit.services.admin.setWebAccess(of: platform, of: application, edit, by: visit.author)
            return Self.done(platform, application, "saved")
        }
    }
}
