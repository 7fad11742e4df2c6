import BelfryServer
import BelfryService
import Foundation

/// Clients that were written for other servers, one of each: they register a device and send to it, by their own words alone.
struct DemoOtherClients: Sendable {
    let client: DemoClient
    let operatorService: OperatorService
    let apple: any DemoProvider

    private static let customer: Int64 = 42
    private static let appID = "org.example.belfry-demo"

    /// Returns whether each device was notified.
    func play() async throws -> Bool {
        let created = try await operatorService.createApplication(name: "Clients of other servers")
        let application = created.application
        let platform = try await operatorService.createPlatform(
            of: application, kind: apple.kind, mode: .development, name: "\(apple.name) (simulated)",
            credentials: apple.credentials
        ).platform
        let before = apple.told
        try await carma(application)
        try await acrobits(application, platform)
        try await genero(created)
        return try await areTold(3, since: before)
    }

    /// The push shows what only this device has: a badge that is counted up, and the name of its user.
    private func genero(_ created: CreatedApplication) async throws {
        let (application, author) = (created.application, operatorService.author)
        let endpoints = operatorService.services.openEndpoints
        let key = try await endpoints.create(.genero, of: application, by: author).key
        let root = "/genero/\(key)/token_maintainer"
        let token = apple.tokens(1)[0]
        try await client.send(
            "POST", "\(root)/register",
            #"{"notification_type":"APNS","registration_token":"\#(token)","badge_number":0,"app_user":"mike"}"#)
        try await client.send(
            "POST", "\(root)/badge_number",
            #"{"notification_type":"APNS","registration_token":"\#(token)","badge_number":4,"app_user":"mike"}"#)
        let change = UserProfile.Change(attributes: ["name": .text("Mike")])
        _ = try await operatorService.services.users.set("mike", of: application, change, by: author)
        let credentials = "\(application.uuid.lowercased):\(created.apiKey)"
        try await client.send(
            "POST", "/v1/push",
            #"{"message":{"body":"Hi {{user.name}}","badge":"+1","template":true},"target":{"custom_user_ids":["mike"]}}"#,
            credentials: credentials)
        print("→ An app of Genero registered and told its badge; a push said \"Hi Mike\" and made it 5.")
    }

    private func carma(_ application: Application) async throws {
        let (admin, author) = (operatorService.admin, operatorService.author)
        let password = DemoProviders.randomHex(bytes: 8)
        _ = try await admin.createCarmaAccount(
            customerID: Self.customer, user: "demo", password: password, by: author)
        let app = try await admin.createCarmaApp(
            customerID: Self.customer, appID: Self.appID, for: application, by: author)
        let template = try JSONValue(json: #"{"languages":{"en":{"alert":"Hi {{firstName}}"}}}"#.utf8)
        let trigger = try await admin.createCarmaTrigger(try CarmaTemplate(template), of: app, by: author)
        let credentials = "demo:\(password)"
        let root = "/rest/\(Self.customer)"
        try await client.send(
            "PUT", "\(root)/apps/\(Self.appID)/pushdevices",
            #"{"originalId":"lars","firstName":"Lars","deviceInfo":[{"devicetoken":"\#(apple.tokens(1)[0])"}]}"#,
            credentials: credentials)
        try await client.send(
            "POST", "\(root)/triggers/\(trigger.key)/messages", #"{"originalId":"lars"}"#, credentials: credentials)
        print("→ An app of Carma registered, and a back end of Carma sent it a trigger.")
    }

    private func acrobits(_ application: Application, _ platform: Platform) async throws {
        let author = operatorService.author
        _ = try await operatorService.admin.setAcrobitsAppID(
            Self.appID, on: platform, payload: nil, of: application, by: author)
        let endpoints = operatorService.services.openEndpoints
        let key = try await endpoints.create(.acrobitsReporter, of: application, by: author).key
        _ = try await endpoints.create(
            .acrobitsMediator, of: application, allowed: ["127.0.0.0/8", "::1"], isPlain: true, by: author)
        let token = apple.tokens(1)[0]
        try await client.send("GET", "/acrobits/\(key)/?username=ada&selector=S1&token=\(token)&appid=\(Self.appID)")
        try await client.send(
            "POST", "/pnm2/send",
            #"{"verb":"NotifyTextMessage","AppId":"\#(Self.appID)","DeviceToken":"\#(token)","Selector":"S1","Message":"Hi"}"#
        )
        print("→ A softphone of Acrobits reported its token, and its back end sent it a text message.")
    }

    /// The provider counts a moment after a push is accepted.
    private func areTold(_ count: Int, since before: Int) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(10)
        while apple.told < before + count, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(50)) }
        return apple.told == before + count
    }
}
