import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// The page of one device, and the list as a file.
@Suite struct DevicePageTests {
    private func begin() async throws -> (TestDashboard, TestBrowser, TestContents, String) {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        return (
            dashboard, try await dashboard.browser("root@a.example"), contents,
            "/apps/\(contents.application.uuid.lowercased)"
        )
    }

    @Test func `a device is changed on its page`() async throws {
        let (dashboard, browser, contents, app) = try await begin()
        let path = "\(app)/devices/\(contents.device.uuid.lowercased)"
        let page = try await browser.get(path)
        #expect(page.contains("name=\"device_alias\" value=\"dairy\"") && page.contains("compose?device="))
        let seen = ("seen", String(try #require(page.text.firstMatch(of: /name="seen" value="([0-9a-f]+)"/)?.1)))
        let fields = [
            ("device_alias", "Kitchen"), ("custom_user_id", "ann"), ("topics", "Dairy, news"), ("language", "de-AT"),
            ("time_zone", "Europe/Vienna"),
        ]
        let wrong = try await browser.post(path, fields.filter { $0.0 != "language" } + [("language", "no language")])
        #expect(wrong.status == .unprocessableContent && wrong.contains("value=\"Kitchen\""))
        let long = [("custom_user_id", String(repeating: "u", count: 256))]
        #expect(try await browser.post(path, long + fields).contains("is 256 characters, the limit is 255"))
        let nowhere = try await browser.post(path, fields.filter { $0.0 != "time_zone" } + [("time_zone", "Vienna")])
        #expect(nowhere.status == .unprocessableContent && nowhere.contains("it has to be a time zone"))
        #expect(try await browser.post(path, fields + [seen]).location.hasSuffix("?done=saved"))
        let (store, platform) = (dashboard.store, contents.platform.key)
        let device = try #require(try await store.device(contents.device.uuid, on: platform))
        #expect(device.about.alias == "Kitchen" && device.customUserID == "ann")
        #expect(device.topics == ["dairy", "news"] && device.about.model == "dairy", "what the form has not stays")
        #expect(try await store.detail(of: device.key, on: platform)?.language == "de-AT")
        #expect(try await store.auditLog().last?.change.action == "device.update")
        let late = try await browser.post(path, fields + [seen])
        #expect(late.status == .unprocessableContent && late.contains("Somebody else has changed this"))
        _ = try await browser.post(path, [("device_alias", ""), ("custom_user_id", ""), ("topics", "")])
        let empty = try #require(try await store.device(contents.device.uuid, on: platform))
        #expect(empty.shownAlias == nil && empty.customUserID == nil && empty.topics.isEmpty)
        #expect(try await store.detail(of: device.key, on: platform)?.language == "de-AT")
    }

    @Test func `an inactive device is not changed`() async throws {
        let (dashboard, browser, contents, app) = try await begin()
        let path = "\(app)/devices/\(contents.device.uuid.lowercased)"
        _ = try await browser.post("\(path)/deactivate", [("confirmed", "yes")])
        let page = try await browser.get(path)
        #expect(!page.contains("name=\"device_alias\"") && !page.contains("compose?device="))
        let late = try await browser.post(path, [("device_alias", "Kitchen")])
        #expect(late.status == .unprocessableContent && late.contains("The device is not active"))
        #expect(try await dashboard.store.auditLog().last?.change.action == "device.deactivate")
    }

    @Test func `the devices of a list are a file`() async throws {
        let (dashboard, browser, contents, app) = try await begin()
        for number in 1...3 {
            let registration = try Registration(
                token: DeviceToken(bytes: Array(repeating: UInt8(100 + number), count: 32)),
                about: Device.About(alias: number == 1 ? "=1+1, \"x\"" : "phone \(number)"), customUserID: .keep,
                topics: .replace(number == 3 ? [] : number == 2 ? ["news"] : ["news", "a b", "c, d"]))
            _ = try await dashboard.store.register(registration, as: nil, on: contents.platform)
        }
        #expect(try await browser.get("\(app)/devices?topic=news").contains("devices.csv?topic=news"))
        #expect(try await browser.get("\(app)/devices").contains("Download as CSV (the first 50,000)"))
        let all = try await browser.get("\(app)/devices.csv")
        #expect(all.headers[.contentDisposition] == "attachment; filename=\"devices.csv\"")
        let lines = all.text.split(separator: "\r\n")
        #expect(lines.count == 5 && lines[0].hasPrefix("device_uuid,platform,alias,user,"))
        #expect(lines.contains { $0.hasPrefix("\"\(contents.device.uuid.lowercased)\"") && $0.contains(",\"dairy\",") })
        #expect(all.contains(#","a b, ""c, d"", news","#), "names of topics stay apart")
        #expect(all.contains("\"\"x\"\"") && !all.contains("\"=1+1"), "no formula to a spreadsheet")
        #expect(try await browser.get("\(app)/devices.csv?topic=news").text.split(separator: "\r\n").count == 3)
        #expect(try await browser.get("\(app)/devices.csv?seen_from=x").status == .badRequest)
    }
}
