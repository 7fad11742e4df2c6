package com.google.firebase.messaging;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;

public class FirebaseMessagingService extends Service {
    public final IBinder onBind(Intent intent) { return null; }
    public void onMessageReceived(RemoteMessage message) {}
    public void onNewToken(String token) {}
    public void onDeletedMessages() {}
}
