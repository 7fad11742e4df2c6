belfry app create --name News
belfry platform create --app APP_UUID --type ios --mode development --name iPhone \
    --apns-key AuthKey_ABC123DEFG.p8 --key-id ABC123DEFG --team-id DEF123GHIJ --topic org.example.news
